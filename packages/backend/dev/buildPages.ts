// What `npm run build:pages` runs, a part of `npm run build:packages`. `npm start` and the tests in
// the browser then find the pages built; after `backstage-cli repo build --all` they would not, which
// keeps no word of what it was made of.

import { buildPages } from './app';
import { loadSettings } from './settings';

async function main(): Promise<void> {
  const { appPackages } = await loadSettings([]);
  await buildPages({
    config: [],
    appPackages,
    print: line => process.stderr.write(`${line}\n`),
  });
}

main().catch(error => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exitCode = 1;
});
