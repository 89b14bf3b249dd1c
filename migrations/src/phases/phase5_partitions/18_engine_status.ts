import type { Step } from '../../engine/Step';
import { ownerStatement } from '../../roles';
import { revokeAllStatement } from '../../schema/grants';
import { ENGINE_STATUS_TABLE, ENGINES_TABLE } from '../../schema/tables';

// No column but the key is in an index: the updates, one a minute for a tenant at most, are
// HOT ones.
const CREATE_TABLE = `create table if not exists ${ENGINE_STATUS_TABLE} (
  tenant_id uuid not null
    constraint ${ENGINE_STATUS_TABLE}_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  state text not null,
  reason text,
  last_error text,
  last_error_at timestamptz,
  caught_up_at timestamptz,
  process_id uuid,
  updated_at timestamptz not null default now(),
  constraint ${ENGINE_STATUS_TABLE}_pkey primary key (tenant_id)
)`;

const ADD_COLUMNS = `alter table ${ENGINES_TABLE}
  add column if not exists paused_at timestamptz,
  add column if not exists paused_by text`;

const COMMENTS = [
  `comment on table ${ENGINE_STATUS_TABLE} is 'What the engine of a tenant does in the process that does its background work'`,
  `comment on column ${ENGINE_STATUS_TABLE}.last_error is 'Why the engine failed last, also after it has started since'`,
  `comment on column ${ENGINE_STATUS_TABLE}.caught_up_at is 'When the engine last had nothing left that was due'`,
  `comment on column ${ENGINE_STATUS_TABLE}.process_id is 'The process that wrote the row, in engine_processes while it lives'`,
];

const COLUMN_COMMENTS = [
  `comment on column ${ENGINES_TABLE}.paused_at is 'Since when the engine ingests nothing and runs no scheduled task'`,
  `comment on column ${ENGINES_TABLE}.paused_by is 'The user or service that paused it'`,
];

/**
 * What the engines of tenants do, which only the process knows that does their background work,
 * and which of them an operator has paused.
 *
 * The application's user has no right to the table: reasons of failures may name what a tenant
 * has configured. Like the leases it comes before the swap, and a backend that starts adds it to
 * a database of which an earlier version completed phase 5.
 */
export const engineStatus: Step = {
  name: '5_18_engine_status',
  title: `Create the table ${ENGINE_STATUS_TABLE}, and the columns for a pause of engines`,
  isAddition: true,

  creates: () =>
    [ENGINE_STATUS_TABLE, `${ENGINE_STATUS_TABLE}_pkey`].map(name => ({
      kind: 'relation',
      name,
    })),

  async up({ executor }) {
    await executor.transaction({
      title: `Create the table ${ENGINE_STATUS_TABLE}`,
      locks:
        'A new table. Its foreign key takes SHARE ROW EXCLUSIVE on tenants, for a change of ' +
        'the catalog: a change of the registry waits behind it.',
      tables: ['tenants'],
      mode: 'share row exclusive',
      statements: [
        CREATE_TABLE,
        ...COMMENTS,
        ownerStatement(ENGINE_STATUS_TABLE),
        revokeAllStatement(ENGINE_STATUS_TABLE),
      ],
    });
    await executor.transaction({
      title: 'Add the columns for a pause of engines',
      locks: `ACCESS EXCLUSIVE on ${ENGINES_TABLE}, for a change of the catalog that reads no row.`,
      tables: [ENGINES_TABLE],
      statements: [ADD_COLUMNS, ...COLUMN_COMMENTS],
    });
  },

  async down({ executor }) {
    await executor.transaction({
      title: `Drop the table ${ENGINE_STATUS_TABLE}`,
      locks:
        `ACCESS EXCLUSIVE on ${ENGINE_STATUS_TABLE}, ${ENGINES_TABLE} and tenants, for a change of the ` +
        'catalog. An application that reads them waits behind it.',
      tables: [ENGINE_STATUS_TABLE, ENGINES_TABLE, 'tenants'],
      statements: [
        `drop table if exists ${ENGINE_STATUS_TABLE}`,
        `alter table if exists ${ENGINES_TABLE}
  drop column if exists paused_at,
  drop column if exists paused_by`,
      ],
    });
  },
};
