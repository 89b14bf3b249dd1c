import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const UI = require.resolve('@backstage/ui/package.json');
const CSS = readFileSync(join(UI, '../dist/css/styles.css'), 'utf8');
const OWN = readFileSync(join(__dirname, 'Skeleton.module.css'), 'utf8');

it.each(['light', 'dark'])('is seen on a page in the %s theme', theme => {
  const [, colour, percent] = OWN.match(/var\((--[\w-]+)\) (\d+)%/)!;
  const tokens = CSS.split(`[data-theme-mode='${theme}'] {`)[1];
  const valueOf = (name: string): string => {
    const [, value] =
      tokens.match(new RegExp(`${name}: ([^;]*);`)) ??
      CSS.match(new RegExp(`${name}: ([^;]*);`))!;
    const [, other] = value.match(/^var\((.*)\)$/) ?? [];
    return other ? valueOf(other) : value;
  };
  const grey = (name: string) => {
    const [, two, one] = valueOf(name).match(/^#(?:(..)....|(.)..)$/)!;
    return parseInt(two ?? one + one, 16);
  };
  for (const page of ['--bui-bg-app', '--bui-bg-neutral-1']) {
    const most = Math.abs(grey(colour) - grey(page));
    const difference = (most * Number(percent)) / 100;
    // Of the whole range from black to white: to be seen, and not to glare in the dark theme.
    expect(difference).toBeGreaterThan(255 / 20);
    expect(difference).toBeLessThan(255 / 5);
  }
});
