import { render } from '@testing-library/react';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Skeleton } from './Skeleton';

const UI = require.resolve('@backstage/ui/package.json');
const CSS = readFileSync(join(UI, '../dist/css/styles.css'), 'utf8');

it.each(['light', 'dark'])('is seen on a page in the %s theme', theme => {
  const { container } = render(<Skeleton />);
  const colour = container.innerHTML.match(/var\((--[\w-]+)\)/)![1];
  const tokens = CSS.split(`[data-theme-mode='${theme}'] {`)[1];
  const valueOf = (name: string): string => {
    const [, value] =
      tokens.match(new RegExp(`${name}: ([^;]*);`)) ??
      CSS.match(new RegExp(`${name}: ([^;]*);`))!;
    const [, other] = value.match(/^var\((.*)\)$/) ?? [];
    return other ? valueOf(other) : value;
  };
  const grey = (name: string) => parseInt(valueOf(name).slice(1, 3), 16);
  const [, white, opacity] = valueOf(colour)
    .match(/^oklch\((.*)% 0 0 \/ (.*)%\)$/)!
    .map(percent => Number(percent) / 100);
  for (const page of ['--bui-bg-app', '--bui-bg-neutral-1']) {
    const difference = Math.abs(255 * white - grey(page)) * opacity;
    // Of the whole range from black to white: to be seen, and not to glare in the dark theme.
    expect(difference).toBeGreaterThan(255 / 20);
    expect(difference).toBeLessThan(255 / 5);
  }
});
