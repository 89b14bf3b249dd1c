import type { Executor } from '../../engine/Executor';
import type { Step } from '../../engine/Step';
import { ownerStatement } from '../../roles';
import { revokeAllStatement } from '../../schema/grants';
import { columnExists } from '../../schema/lookups';
import { ENGINES_TABLE } from '../../schema/tables';
import { escapeIdentifier } from '../../sql';
import { formatThings } from '../../text';
import { readApplicationUsers } from './15_tenant_members';

const CREATE_TABLE = `create table if not exists ${ENGINES_TABLE} (
  tenant_id uuid not null
    constraint ${ENGINES_TABLE}_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  catalog_config jsonb
    constraint ${ENGINES_TABLE}_catalog_config_check check (jsonb_typeof(catalog_config) = 'object'),
  config_updated_at timestamptz,
  config_updated_by text,
  created_by text not null,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  constraint ${ENGINES_TABLE}_pkey primary key (tenant_id)
)`;

const COMMENTS = [
  `comment on table ${ENGINES_TABLE} is 'The tenants that a catalog engine feeds; code feeds the others'`,
  `comment on column ${ENGINES_TABLE}.catalog_config is 'The configuration of the engine, with references in place of secrets'`,
  `comment on column ${ENGINES_TABLE}.config_updated_by is 'The user or service that wrote the configuration'`,
  `comment on column ${ENGINES_TABLE}.created_by is 'The user or service that gave the tenant an engine'`,
  `comment on column ${ENGINES_TABLE}.disabled_at is 'Since when the tables of the engine are to be removed; it feeds the tenant no more'`,
];

/**
 * Which tenants a catalog engine feeds, and how it is configured.
 *
 * Like the members of tenants it comes before the swap, and a backend that starts adds it
 * to a database of which an earlier version completed phase 5.
 */
export const tenantEngines: Step = {
  name: '5_16_tenant_engines',
  title: `Create the table ${ENGINES_TABLE}`,
  isAddition: true,

  creates: () =>
    [ENGINES_TABLE, `${ENGINES_TABLE}_pkey`].map(name => ({
      kind: 'relation',
      name,
    })),

  async up({ executor }) {
    const readers = await readApplicationUsers(executor);
    await executor.transaction({
      title: `Create the table ${ENGINES_TABLE}`,
      locks:
        'A new table. Its foreign key takes SHARE ROW EXCLUSIVE on tenants, for a change of ' +
        'the catalog: a change of the registry waits behind it.',
      tables: ['tenants'],
      mode: 'share row exclusive',
      statements: [
        CREATE_TABLE,
        ...COMMENTS,
        ownerStatement(ENGINES_TABLE),
        revokeAllStatement(ENGINES_TABLE),
        `grant select on table ${ENGINES_TABLE} to ${readers
          .map(escapeIdentifier)
          .join(', ')}`,
      ],
    });
  },

  async down({ executor, reporter }) {
    const engines = await describeEngines(executor);
    if (engines) {
      reporter.warn(`${ENGINES_TABLE} is dropped with ${engines}.`);
    }
    await executor.transaction({
      title: `Drop the table ${ENGINES_TABLE}`,
      locks:
        `ACCESS EXCLUSIVE on ${ENGINES_TABLE} and tenants, for a change of the catalog. An application ` +
        'that reads them waits behind it.',
      tables: [ENGINES_TABLE, 'tenants'],
      statements: [`drop table if exists ${ENGINES_TABLE}`],
    });
  },
};

/** `the engines of 3 tenants, 2 with a configuration`; nothing where there are none. */
export async function describeEngines(
  executor: Executor,
): Promise<string | undefined> {
  // A table of somebody else's under that name has no configurations.
  if (!(await columnExists(executor, ENGINES_TABLE, 'catalog_config'))) {
    return undefined;
  }
  const [{ engines, configured }] = await executor.read<{
    engines: number;
    configured: number;
  }>(
    `select count(*)::int as engines, count(catalog_config)::int as configured
       from ${ENGINES_TABLE}`,
  );
  return engines === 0
    ? undefined
    : `the engines of ${formatThings(
        engines,
        'tenant',
      )}, ${configured} with a configuration`;
}
