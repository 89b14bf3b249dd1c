import type { Executor } from '../../engine/Executor';
import type { Step, StepContext } from '../../engine/Step';
import { RefusedError } from '../../errors';
import { operatorCommand } from '../../operatorCommand';
import { APP_ROLE, ownerStatement } from '../../roles';
import { revokeAllStatement } from '../../schema/grants';
import { columnExists } from '../../schema/lookups';
import { MEMBERS_TABLE } from '../../schema/tables';
import { escapeIdentifier } from '../../sql';
import { formatThings } from '../../text';

const CREATE_TABLE = `create table if not exists ${MEMBERS_TABLE} (
  tenant_id uuid not null
    constraint ${MEMBERS_TABLE}_tenant_id_fkey references tenants (tenant_id) on delete cascade,
  principal text not null,
  role text not null
    constraint ${MEMBERS_TABLE}_role_check check (role in ('member', 'admin')),
  created_by text not null,
  created_at timestamptz not null default now(),
  constraint ${MEMBERS_TABLE}_pkey primary key (tenant_id, principal)
)`;

const COMMENTS = [
  `comment on table ${MEMBERS_TABLE} is 'Who may enter which tenant'`,
  `comment on column ${MEMBERS_TABLE}.principal is 'The reference of a user or group in the catalog of the default tenant, or the subject of an external service'`,
  `comment on column ${MEMBERS_TABLE}.created_by is 'The user or service that added the member'`,
];

/**
 * Who may enter which tenant.
 *
 * The step comes before the swap: the way back out of the swapped tables alone keeps the
 * members, as it keeps the tenants. A database of which an earlier version completed phase 5
 * lacks this step alone. `phase5` does it, and so does a backend that starts.
 */
export const tenantMembers: Step = {
  name: '5_15_tenant_members',
  title: `Create the table ${MEMBERS_TABLE}`,
  isAddition: true,

  creates: () =>
    [
      MEMBERS_TABLE,
      `${MEMBERS_TABLE}_pkey`,
      `${MEMBERS_TABLE}_principal_idx`,
    ].map(name => ({ kind: 'relation', name })),

  async up({ executor }) {
    const readers = await readApplicationUsers(executor);
    await executor.transaction({
      title: `Create the table ${MEMBERS_TABLE}`,
      locks:
        'A new table. Its foreign key takes SHARE ROW EXCLUSIVE on tenants, for a change of ' +
        'the catalog: a change of the registry waits behind it.',
      tables: ['tenants'],
      mode: 'share row exclusive',
      statements: [
        CREATE_TABLE,
        // For the tenants of one caller.
        `create index if not exists ${MEMBERS_TABLE}_principal_idx on ${MEMBERS_TABLE} (principal)`,
        ...COMMENTS,
        ownerStatement(MEMBERS_TABLE),
        revokeAllStatement(MEMBERS_TABLE),
        `grant select on table ${MEMBERS_TABLE} to ${readers
          .map(escapeIdentifier)
          .join(', ')}`,
      ],
    });
  },

  async down({ executor, reporter }) {
    const members = await describeMembers(executor);
    if (members) {
      reporter.warn(`${MEMBERS_TABLE} is dropped with ${members}.`);
    }
    await executor.transaction({
      title: `Drop the table ${MEMBERS_TABLE}`,
      locks:
        `ACCESS EXCLUSIVE on ${MEMBERS_TABLE} and tenants, for a change of the catalog. An application ` +
        'that reads them waits behind it.',
      tables: [MEMBERS_TABLE, 'tenants'],
      statements: [`drop table if exists ${MEMBERS_TABLE}`],
    });
  },
};

/**
 * The users that applications connect as: `portal_app`, and after the swap whoever was
 * granted the tables that entities are searched by as well. Databases of all versions have one
 * of these.
 */
export async function readApplicationUsers(
  executor: Executor,
): Promise<string[]> {
  const others = await executor.read<{ name: string }>(
    `select r.rolname as name
       from pg_class c, aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
      where c.oid = to_regclass($1) and a.privilege_type = 'SELECT'
        and a.grantee <> c.relowner and r.rolname <> $2
      order by 1`,
    ['entity_parents', APP_ROLE],
  );
  return [APP_ROLE, ...others.map(({ name }) => name)];
}

/**
 * @param describe - what the table holds, if anything
 * @throws {@link RefusedError} while there is such, which is nowhere else
 */
export async function refuseRowsOf(
  { executor, settings }: StepContext,
  table: string,
  describe: (executor: Executor) => Promise<string | undefined>,
): Promise<void> {
  const rows = settings.force ? undefined : await describe(executor);
  if (rows) {
    throw new RefusedError(
      `${table} holds ${rows}, which undoing phase 5 as a whole would delete. ` +
        `Undo the swap alone ("${operatorCommand('rollback')}"), which keeps ` +
        'them, or give --force to delete them.',
    );
  }
}

/** `3 members of 2 tenants`; nothing where there are none. */
export async function describeMembers(
  executor: Executor,
): Promise<string | undefined> {
  // A table under that name that the migration has not created has no tenants.
  if (!(await columnExists(executor, MEMBERS_TABLE, 'tenant_id'))) {
    return undefined;
  }
  const [{ members, tenants }] = await executor.read<{
    members: number;
    tenants: number;
  }>(
    `select count(*)::int as members, count(distinct tenant_id)::int as tenants
       from ${MEMBERS_TABLE}`,
  );
  return members === 0
    ? undefined
    : `${formatThings(members, 'member')} of ${formatThings(
        tenants,
        'tenant',
      )}`;
}
