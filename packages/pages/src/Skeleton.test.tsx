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
  // At least a twentieth of the whole range from black to white.
  const grey = (name: string) => parseInt(valueOf(name).slice(1, 3), 16);
  for (const page of ['--bui-bg-app', '--bui-bg-neutral-1']) {
    expect(Math.abs(grey(colour) - grey(page))).toBeGreaterThan(12);
  }
});
