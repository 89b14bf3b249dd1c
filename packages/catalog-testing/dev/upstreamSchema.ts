// Prints what the migrations of the installed versions of upstream make, as an array of JSON: one
// line for each object, with all that is said about it. `npm run other-versions -- --newest`
// compares two of these.

import { resolvePackagePath } from '@backstage/backend-plugin-api';
import { Postgres } from '@internal/postgres';
import createKnex, { type Knex } from 'knex';
import { databaseSnapshot } from '../src/databaseSnapshot';

/** Each in a database of its own, as Backstage has it. */
const MIGRATIONS = {
  catalog: ['@backstage/plugin-catalog-backend', 'migrations'],
  search: ['@backstage/plugin-search-backend-module-pg', 'migrations'],
  scheduler: ['@backstage/backend-defaults', 'migrations/scheduler'],
} as const;

async function describe(knex: Knex): Promise<string[]> {
  const query = async (text: string) => (await knex.raw(text)).rows;
  const migrations: { name: string }[] = await query(
    'select name from knex_migrations order by 1',
  );
  return [
    ...migrations.map(({ name }) => `migration ${name}`),
    ...(await databaseSnapshot({ query })),
  ];
}

async function main(): Promise<void> {
  const server = await Postgres.start();
  try {
    const lines: string[] = [];
    for (const [name, [pkg, folder]] of Object.entries(MIGRATIONS)) {
      const { host, port, user, password } = server.connection;
      const connect = (database: string) =>
        createKnex({
          client: 'pg',
          connection: { host, port, user, password, database },
        });
      const admin = connect('postgres');
      await admin
        .raw('create database ??', [name])
        .finally(() => admin.destroy());
      const knex = connect(name);
      try {
        await knex.migrate.latest({
          directory: resolvePackagePath(pkg, folder),
        });
        lines.push(...(await describe(knex)).map(line => `${name}: ${line}`));
      } finally {
        await knex.destroy();
      }
    }
    process.stdout.write(JSON.stringify(lines));
  } finally {
    await server.stop();
  }
}

main().catch(error => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
