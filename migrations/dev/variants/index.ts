/**
 * Takes variants of a catalog's tables and settings through the migration and back, on each
 * version of PostgreSQL: `npm run catalog-variants`.
 */

import { writeFileSync } from 'node:fs';
import { Postgres } from '@internal/postgres';
import type { PostgresVersion } from '@internal/postgres';
import { parseSelection, sampleOf } from '@internal/postgres/sample';
import type { Selection } from '@internal/postgres/sample';
import { variants } from './variants';
import type { Variant } from './variants';
import { variantsOf, Walk } from './walk';

const USAGE = `npm run catalog-variants -- [options] [words]

  words          walk the variants whose names contain all of them; otherwise all
  --sample <n>   of these walk only so many on each version, chosen by the seed
  --seed <text>  any text; another one for each day by default
  --postgres <version>
                 14 or 18; may be repeated, and is both by default
  --pg-dump <file>
                 compare what this pg_dump writes as well; it must know the version
  --report <file>
                 write {"passed": n, "failed": n} to it
`;

const VERSIONS: PostgresVersion[] = [14, 18];

interface Options extends Omit<Selection<Variant>, 'values'> {
  versions: PostgresVersion[];
  pgDump?: string;
}

/** @throws Error for the operator, which names the bad argument */
function parse(args: string[]): Options {
  const { values, ...selection } = parseSelection(args, variants, 'variant', {
    postgres: { type: 'string', multiple: true },
    'pg-dump': { type: 'string' },
  });
  const asked = values.postgres as string[] | undefined;
  return {
    ...selection,
    versions: asked?.map(versionOf) ?? VERSIONS,
    pgDump: values['pg-dump'] as string | undefined,
  };
}

function versionOf(text: string): PostgresVersion {
  const version = VERSIONS.find(each => String(each) === text);
  if (!version) {
    throw new Error(`--postgres is "${text}", expected 14 or 18`);
  }
  return version;
}

/** @returns how many variants did not pass */
async function walkOn(
  version: PostgresVersion,
  chosen: Variant[],
  pgDump?: string,
): Promise<number> {
  const server = await Postgres.start({ version });
  let failed = 0;
  try {
    const walk = await Walk.begin({
      connection: { ...server.connection, database: 'postgres' },
      version,
      pgDump,
    });
    for (const variant of chosen) {
      const began = Date.now();
      const failure = await walk.run(variant).then(
        () => undefined,
        (error: Error) => error.message,
      );
      failed += failure === undefined ? 0 : 1;
      process.stdout.write(
        `PostgreSQL ${version}, ${variant.name}: ${
          failure === undefined
            ? `as it should be (${Date.now() - began} ms)`
            : `FAILED\n${failure.replace(/^/gm, '    ')}`
        }\n`,
      );
    }
    await walk.end();
  } finally {
    await server.stop();
  }
  return failed;
}

async function main(args: string[]): Promise<number> {
  let options: Options;
  try {
    options = parse(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  const { selected, versions, sample, seed, pgDump, report } = options;
  let passed = 0;
  let failed = 0;
  for (const version of versions) {
    const known = variantsOf(selected, version);
    const chosen = sample === undefined ? known : sampleOf(known, sample, seed);
    if (sample !== undefined) {
      process.stdout.write(
        `${chosen.length} of ${known.length} variants; the same with --sample ${sample} --seed ${seed}\n`,
      );
    }
    const failures = await walkOn(version, chosen, pgDump);
    failed += failures;
    passed += chosen.length - failures;
  }
  process.stdout.write(`${passed} variants passed, ${failed} failed\n`);
  if (report) {
    writeFileSync(report, JSON.stringify({ passed, failed }));
  }
  return failed === 0 ? 0 : 1;
}

main(process.argv.slice(2)).then(
  code => {
    process.exitCode = code;
  },
  error => {
    process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  },
);
