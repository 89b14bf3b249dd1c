import type { Step } from '../../engine/Step';
import { ownerStatement } from '../../roles';
import { revokeAllStatement } from '../../schema/grants';
import { LEASES_TABLE, PROCESSES_TABLE } from '../../schema/tables';

const TABLES = [PROCESSES_TABLE, LEASES_TABLE];

// Logged: a crash or a failover that emptied the tables would let a process take tenants
// whose leases another one still counts as its own. Each process updates its row every few
// seconds; expires_at is in no index, so that the update is a HOT one, and any access to the
// page prunes the row's earlier versions: neither a fillfactor nor a vacuum of its own is needed.
const CREATE_PROCESSES = `create table if not exists ${PROCESSES_TABLE} (
  process_id uuid not null,
  name text not null,
  started_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint ${PROCESSES_TABLE}_pkey primary key (process_id)
)`;

const CREATE_LEASES = `create table if not exists ${LEASES_TABLE} (
  tenant_id uuid not null
    constraint ${LEASES_TABLE}_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  process_id uuid not null
    constraint ${LEASES_TABLE}_process_id_fkey references ${PROCESSES_TABLE} (process_id) on delete cascade,
  since timestamptz not null default now(),
  constraint ${LEASES_TABLE}_pkey primary key (tenant_id)
)`;

const COMMENTS = [
  `comment on table ${PROCESSES_TABLE} is 'The processes that divide the background work of tenants among themselves'`,
  `comment on column ${PROCESSES_TABLE}.name is 'For people: host and process id'`,
  `comment on column ${PROCESSES_TABLE}.expires_at is 'When others may end its sessions and take its leases'`,
  `comment on table ${LEASES_TABLE} is 'Which process does the background work of which tenant'`,
];

/**
 * Which process of a deployment does the background work of which tenant.
 *
 * The application's user has no right to the tables: engines use them, and their login acts
 * as `portal_admin`. Like the engines they come before the swap, and a backend that starts
 * adds them to a database of which an earlier version completed phase 5.
 */
export const engineLeases: Step = {
  name: '5_17_engine_leases',
  title: `Create the tables ${PROCESSES_TABLE} and ${LEASES_TABLE}`,
  isAddition: true,

  creates: () =>
    TABLES.flatMap(table => [table, `${table}_pkey`]).map(name => ({
      kind: 'relation',
      name,
    })),

  async up({ executor }) {
    await executor.transaction({
      title: `Create the tables ${PROCESSES_TABLE} and ${LEASES_TABLE}`,
      locks:
        'New tables. The foreign key takes SHARE ROW EXCLUSIVE on tenants, for a change of ' +
        'the catalog: a change of the registry waits behind it.',
      tables: ['tenants'],
      mode: 'share row exclusive',
      statements: [
        CREATE_PROCESSES,
        CREATE_LEASES,
        ...COMMENTS,
        ...TABLES.flatMap(table => [
          ownerStatement(table),
          revokeAllStatement(table),
        ]),
      ],
    });
  },

  async down({ executor }) {
    await executor.transaction({
      title: `Drop the tables ${LEASES_TABLE} and ${PROCESSES_TABLE}`,
      locks:
        `ACCESS EXCLUSIVE on ${TABLES.join(
          ', ',
        )} and tenants, for a change of the catalog. A ` +
        'process that renews its leases waits behind it.',
      tables: [...TABLES, 'tenants'],
      statements: [LEASES_TABLE, PROCESSES_TABLE].map(
        table => `drop table if exists ${table}`,
      ),
    });
  },
};
