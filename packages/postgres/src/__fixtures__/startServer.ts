// Starts a server, says which, and leaves it to its fate.

import { Postgres } from '../Postgres';

async function main() {
  const { dataDirectory, pid } = await Postgres.start({
    dataDirectory: process.argv[3],
  });
  process.stdout.write(`${JSON.stringify({ dataDirectory, pid })}\n`);
  if (process.argv[2] === 'stay') {
    process.stdin.resume();
  }
}

main();
