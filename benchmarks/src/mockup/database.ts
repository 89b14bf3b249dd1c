import { resolvePackagePath } from '@backstage/backend-plugin-api';
import type { Postgres } from '@internal/postgres';
import type { Knex } from 'knex';
import { withKnex } from '../harness/database';
import { USER } from './constants';
import { LAYOUTS } from './layouts';

/** How much there is in a database. */
export interface Size {
  mockups: number;
  versionsPerMockup: number;
  /** How many versions each of some further mockups has. */
  growth: number[];
}

/** The ids of the mockups in a database and in every copy of it. */
export interface Seeded {
  ids: string[];
  /** Those of the further mockups, by their number of versions. */
  growth: Map<number, string>;
}

const GROWTH_NAME = 'Versions: ';

const INSERT_MOCKUPS = `
  insert into mockups (name, description, owner, created_at, updated_at)
  select 'Mockup ' || number,
    'Draft ' || number || ' of the page on which customers of the shop look through '
      || 'what is in their basket, before they choose how to pay', :user,
    timestamp '2025-01-01', timestamp '2025-06-01' + number * interval '1 second'
  from generate_series(1, :count) number`;

const INSERT_GROWTH = `
  insert into mockups (name, description, owner, created_at, updated_at)
  select '${GROWTH_NAME}' || number, 'Has many versions', :user,
    timestamp '2025-01-01', timestamp '2025-06-01'
  from unnest(cast(:counts as integer[])) number`;

// Ordered by time and not by mockup: saved in the course of time, the versions
// of a mockup do not lie side by side.
const INSERT_VERSIONS = `
  with layouts as materialized (
    select ordinality - 1 as number, cast(layout as jsonb) as layout
      from unnest(cast(:layouts as text[])) with ordinality as texts (layout)
  ),
  saved as (
    select mockups.id, number
      from mockups
     cross join lateral generate_series(1,
       case when name like '${GROWTH_NAME}%'
         then substr(name, ${GROWTH_NAME.length + 1})::integer
         else :versionsPerMockup end) number
     order by number, mockups.id
  )
  insert into mockup_versions
    (mockup_id, version_tag, layout_data, created_by, created_at)
  select id, 'v' || saved.number, layout, :user,
    timestamp '2025-01-01' + saved.number * interval '1 second'
  from saved
  join layouts on layouts.number = saved.number % ${LAYOUTS.length}`;

/** Creates a database with the plugin's own tables, and fills it. */
export async function createDatabase(
  postgres: Postgres,
  database: string,
  size: Size,
): Promise<Seeded> {
  await withKnex(postgres, 'postgres', knex =>
    knex.raw('create database ??', [database]),
  );
  return await withKnex(postgres, database, async knex => {
    await knex.migrate.latest({
      directory: resolvePackagePath(
        'backstage-plugin-mockup-backend',
        'migrations',
      ),
    });
    await knex.raw(INSERT_MOCKUPS, { count: size.mockups, user: USER });
    await knex.raw(INSERT_GROWTH, { counts: size.growth, user: USER });
    await knex.raw(INSERT_VERSIONS, {
      layouts: LAYOUTS.map(layout => JSON.stringify(layout)),
      versionsPerMockup: size.versionsPerMockup,
      user: USER,
    });
    await knex.raw('vacuum (analyze) mockups, mockup_versions');
    return await readIds(knex);
  });
}

/** Copies a database, so that a server has the same data to itself. */
export async function copyDatabase(
  postgres: Postgres,
  database: string,
  copy: string,
): Promise<void> {
  await withKnex(postgres, 'postgres', knex =>
    knex.raw('create database ?? template ??', [copy, database]),
  );
}

async function readIds(knex: Knex): Promise<Seeded> {
  const rows = await knex('mockups').select('id', 'name');
  const isGrowth = ({ name }: { name: string }) => name.startsWith(GROWTH_NAME);
  return {
    ids: rows.filter(row => !isGrowth(row)).map(({ id }) => id),
    growth: new Map(
      rows
        .filter(isGrowth)
        .map(({ id, name }) => [Number(name.slice(GROWTH_NAME.length)), id]),
    ),
  };
}
