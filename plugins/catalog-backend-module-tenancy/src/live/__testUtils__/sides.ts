import { KEY_PREFIXES } from 'backstage-catalog-tenancy-migrations';
import type { Client } from 'pg';
import { DEFAULT_TENANT_ID } from 'backstage-plugin-catalog-tenancy-node';
import type { LiveDatabase } from './LiveDatabase';

/** What cannot be converted has no place on our side. */
const CONVERSIONS = `
  create function pg_temp.as_json(text) returns jsonb language plpgsql as $$
  begin
    return $1::jsonb;
  exception when others then return null;
  end $$;
  create function pg_temp.as_id(text) returns uuid language plpgsql as $$
  begin
    return $1::uuid;
  exception when others then return null;
  end $$;
  create temp view carried as
    select * from public.final_entities
     where pg_temp.as_id(entity_id) is not null
       and pg_temp.as_json(final_entity) is not null;
`;

const PARTS = `split_part(entity_ref, ':', 1) as kind,
  split_part(split_part(entity_ref, ':', 2), '/', 1) as namespace,
  split_part(entity_ref, '/', 2) as name`;

/** Whether a row is the default tenant's, also where there are no tenants yet. */
const OWN = (alias: string) =>
  `coalesce(to_jsonb(${alias}) ->> 'tenant_id', '${DEFAULT_TENANT_ID}')
     = '${DEFAULT_TENANT_ID}'`;

interface Sides {
  /** What the engine has. */
  theirs: string;
  /** What we have, in the columns of the same names. */
  ours: string;
}

const TABLES: Record<string, Sides> = {
  entities: {
    theirs: `select pg_temp.as_id(entity_id) as id, entity_ref, ${PARTS},
                    pg_temp.as_json(final_entity) as entity, hash,
                    last_updated_at as updated_at
               from carried`,
    ours: `select entity_id as id, entity_ref, entity_kind as kind,
                  entity_namespace as namespace, entity_name as name,
                  final_entity as entity, hash, updated_at
             from tenancy.entities e where deleted_at is null and ${OWN('e')}`,
  },
  relations: {
    theirs: `select pg_temp.as_id(originating_entity_id) as id,
                    source_entity_ref, type, target_entity_ref
               from public.relations
              where originating_entity_id in (select entity_id from carried)`,
    ours: `select originating_entity_id as id, source_entity_ref, type,
                  target_entity_ref
             from tenancy.relations r where ${OWN('r')}`,
  },
  refresh_state: {
    theirs: `select pg_temp.as_id(entity_id) as id, location_key,
                    coalesce(nullif(errors, ''), '[]')::jsonb as errors
               from public.refresh_state
              where entity_id in (select entity_id from carried)`,
    ours: `select entity_id as id, location_key, errors
             from tenancy.refresh_state s where ${OWN('s')}`,
  },
};

const AFTER_PHASE_5: Record<string, Sides> = {
  entity_parents: {
    theirs: `select target_entity_ref, source_entity_ref
               from public.refresh_state_references
              where source_entity_ref is not null`,
    ours: `select entity_ref as target_entity_ref,
                  parent_entity_ref as source_entity_ref
             from tenancy.entity_parents p where ${OWN('p')}`,
  },
};

const KEY_IN_FULL = `case left(key, 1) ${Object.entries(KEY_PREFIXES)
  .map(
    ([letter, prefix]) => `when '${letter}' then '${prefix}' || substr(key, 2)`,
  )
  .join(' ')} else key end`;

/** The engine writes these apart from the entity: they are equal only at rest. */
const AT_REST: Record<string, Sides> = {
  entity_terms: {
    theirs: `select pg_temp.as_id(entity_id) as id, key, value, original_value
               from public.search
              where entity_id in (select entity_id from carried)`,
    ours: `select entity_id as id, ${KEY_IN_FULL} as key, value,
                  case original_value when '' then value else original_value end as original_value
             from tenancy.entity_terms s where ${OWN('s')}`,
  },
};

/**
 * Compares the two sides, each table at one moment, and lists the differences:
 * none, if all is well.
 */
export async function differences(
  database: LiveDatabase,
  atRest: boolean,
): Promise<string[]> {
  return database.use(async client => {
    await client.query(CONVERSIONS);
    const [{ further }] = (
      await client.query(
        `select to_regclass('tenancy.entity_terms') is not null as further`,
      )
    ).rows;
    const tables: Record<string, Sides> = {
      ...TABLES,
      ...(further && AFTER_PHASE_5),
      ...(further && atRest && AT_REST),
    };
    const found: string[] = [];
    for (const [table, sides] of Object.entries(tables)) {
      found.push(...(await differencesOf(client, table, sides)));
    }
    return found;
  });
}

async function differencesOf(
  client: Client,
  table: string,
  { theirs, ours }: Sides,
): Promise<string[]> {
  // One statement, and so one snapshot of both sides.
  const { rows } = await client.query(
    `with theirs as materialized (select t::text as row from (${theirs}) t),
          ours as materialized (select o::text as row from (${ours}) o),
          missing as (select row from theirs except all select row from ours),
          surplus as (select row from ours except all select row from theirs)
     select 'missing' as what, left(row, 300) as row from missing
     union all
     select 'surplus', left(row, 300) from surplus
     limit 20`,
  );
  return rows.map(({ what, row }) => `${what} in ${table}: ${row}`);
}

/** A row for each thing that was kept aside. */
export interface Fault {
  source: string;
  key: string;
  reason: string;
}

export async function faults(database: LiveDatabase): Promise<Fault[]> {
  return database.query<Fault & { sqlstate: string }>(
    'select source, key, reason from tenancy.adoption_faults order by 1, 2',
  );
}

/** The versions of the entities that our side holds, by their refs. */
export async function carriedVersions(
  database: LiveDatabase,
): Promise<Record<string, number>> {
  const rows = await database.query<{ ref: string; version: number }>(
    `select entity_ref as ref, (final_entity #>> '{spec,version}')::int as version
       from tenancy.entities e
      where deleted_at is null and entity_kind <> 'location' and ${OWN('e')}`,
  );
  return Object.fromEntries(rows.map(({ ref, version }) => [ref, version]));
}
