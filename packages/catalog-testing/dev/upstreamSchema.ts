// Prints what the migrations of the installed versions of upstream make, as an array of JSON: one
// line for each object, with all that is said about it. `npm run other-versions -- --newest`
// compares two of these.

import { resolvePackagePath } from '@backstage/backend-plugin-api';
import { Postgres } from '@internal/postgres';
import createKnex, { type Knex } from 'knex';

/** Each in a database of its own, as Backstage has it. */
const MIGRATIONS = {
  catalog: ['@backstage/plugin-catalog-backend', 'migrations'],
  search: ['@backstage/plugin-search-backend-module-pg', 'migrations'],
  scheduler: ['@backstage/backend-defaults', 'migrations/scheduler'],
} as const;

const IN_PUBLIC = `relnamespace = 'public'::regnamespace`;

const QUERIES = [
  `select 'migration ' || name from knex_migrations`,
  `select format('%s %s', case relkind when 'r' then 'table' when 'v' then 'view' when 'm' then 'materialized view'
                 when 'S' then 'sequence' when 'p' then 'partitioned table' else relkind::text end, relname)
          || case when relkind in ('v', 'm') then ': ' || pg_get_viewdef(oid) else '' end
          || coalesce(' with ' || reloptions::text, '')
     from pg_class where ${IN_PUBLIC} and relkind not in ('i', 'I', 'c')`,
  `select format('column %s.%s: %s', relname, attname, format_type(atttypid, atttypmod))
          || case when attnotnull then ' not null' else '' end
          || coalesce(' default ' || pg_get_expr(adbin, adrelid), '')
     from pg_attribute join pg_class c on c.oid = attrelid
     left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where ${IN_PUBLIC} and relkind in ('r', 'p') and attnum > 0 and not attisdropped`,
  `select format('index %s: %s', relname, pg_get_indexdef(indexrelid))
     from pg_index join pg_class on oid = indexrelid where ${IN_PUBLIC}`,
  `select format('constraint %s on %s: %s', conname, relname, pg_get_constraintdef(k.oid))
     from pg_constraint k join pg_class c on c.oid = conrelid where ${IN_PUBLIC}`,
  `select format('trigger %s on %s: %s', tgname, relname, pg_get_triggerdef(t.oid))
     from pg_trigger t join pg_class c on c.oid = tgrelid where ${IN_PUBLIC} and not tgisinternal`,
  `select format('function %s: %s', p.oid::regprocedure, pg_get_functiondef(p.oid))
     from pg_proc p where pronamespace = 'public'::regnamespace and prokind <> 'a'`,
  `select format('statistics %s: %s', stxname, pg_get_statisticsobjdef(oid))
     from pg_statistic_ext where stxnamespace = 'public'::regnamespace`,
  `select format('type %s', typname) from pg_type
    where typnamespace = 'public'::regnamespace and typtype in ('e', 'd', 'r')`,
  `select format('policy %s on %s', polname, relname)
     from pg_policy join pg_class c on c.oid = polrelid where ${IN_PUBLIC}`,
  `select format('rule %s on %s: %s', rulename, tablename, definition)
     from pg_rules where schemaname = 'public'`,
  `select format('extension %s', extname) from pg_extension where extname <> 'plpgsql'`,
];

async function describe(knex: Knex): Promise<string[]> {
  const found: string[] = [];
  for (const query of QUERIES) {
    const { rows } = await knex.raw(`select line from (${query}) q(line)`);
    found.push(...rows.map(({ line }: { line: string }) => line));
  }
  return found.sort();
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
