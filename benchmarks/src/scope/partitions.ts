import { isDeepStrictEqual } from 'node:util';
import type { Client } from 'pg';
import { SCHEMA } from '../catalog/constants';
import type { Database } from '../migration/database';
import { givePartition, TENANT_TABLES } from '../migration/engine';
import { operate } from '../migration/operator';

// Nobody uses the tables meanwhile.
const LONGEST_MOVE_MS = 600_000;

type TenantTable = (typeof TENANT_TABLES)[number];

/** Gives a tenant partitions as an operator does, with the rows that it has. */
export async function givePartitions(
  database: Database,
  slug: string,
): Promise<void> {
  await operate(database, ({ context }) =>
    givePartition(context, slug, { maxBlockMs: LONGEST_MOVE_MS }),
  );
}

/** The name of a tenant's partition. */
export function partitionOf(table: TenantTable, slug: string): string {
  return `${table}_tenant_${slug.replaceAll('-', '_')}`;
}

/**
 * Gives a tenant that has no rows a partition of each table. The operator's command
 * takes long for each, for it looks after those who work meanwhile.
 *
 * @throws Error if they differ from those that the command has made for another tenant
 */
export async function createPartitions(
  client: Client,
  { id, slug, like }: { id: string; slug: string; like: string },
): Promise<void> {
  for (const table of TENANT_TABLES) {
    const name = partitionOf(table, slug);
    const model = await describePartition(client, partitionOf(table, like));
    await client.query(
      `create table ${SCHEMA}.${name}
         partition of ${SCHEMA}.${table} for values in ('${id}');
       alter table ${SCHEMA}.${name} owner to portal_admin;
       alter table ${SCHEMA}.${name}
         enable row level security, force row level security,
         replica identity ${model.identity === 'f' ? 'full' : 'default'}`,
    );
    const created = await describePartition(client, name);
    if (!isDeepStrictEqual(created, model)) {
      throw new Error(
        `${name} is not as the command makes a partition: ` +
          `${JSON.stringify(created)}, ${JSON.stringify(model)}`,
      );
    }
  }
}

/** All about a partition but its names. */
async function describePartition(
  client: Client,
  name: string,
): Promise<{ identity: string }> {
  const { rows } = await client.query(
    `select relowner::regrole::text as owner, relacl::text as grants, reloptions as options,
            relrowsecurity as policies, relforcerowsecurity as forced, relreplident as identity,
            array(select regexp_replace(pg_get_indexdef(indexrelid), '^.* USING ', '')
                    || (case when indisunique then ' unique' else '' end)
                    || (case when indisprimary then ' primary' else '' end)
                    from pg_index where indrelid = c.oid order by 1) as indexes,
            array(select contype::text || ' ' || pg_get_constraintdef(oid)
                    from pg_constraint where conrelid = c.oid order by 1) as constraints
       from pg_class c where oid = to_regclass($1)`,
    [`${SCHEMA}.${name}`],
  );
  return rows[0];
}
