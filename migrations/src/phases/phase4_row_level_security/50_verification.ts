import { DatabaseError } from 'pg';
import type { Step, StepContext } from '../../engine/Step';
import { RefusedError, VerificationError } from '../../errors';
import { ADMIN_ROLE, APP_ROLE } from '../../roles';
import { isSharded } from '../../schema/partitions';
import { TENANT_SETTING } from '../../schema/policies';
import { grantAppToLogin, readRoleAccess } from '../../schema/roleAccess';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';
import { withLockRetries } from '../../session/lockRetries';
import {
  SET_LOCAL_OWNER_ROLE,
  SET_LOCAL_STARTING_ROLE,
} from '../../session/ownerRole';
import { escapeLiteral } from '../../sql';

// An id that no tenant has.
const NO_TENANT = 'ffffffff-ffff-4fff-bfff-ffffffffffff';

const NOT_BY_THE_WAY = `do $$ begin
  if pg_has_role('${APP_ROLE}', '${ADMIN_ROLE}', 'USAGE') then
    raise exception '${APP_ROLE} has the rights of ${ADMIN_ROLE} without asking for them: run "grant ${ADMIN_ROLE} to ${APP_ROLE} with inherit false"';
  end if;
end $$`;

/**
 * The verification of the specification: with the default tenant set, the application's
 * role counts all entities; with another one, 0. Without one, the query fails.
 */
export const verification: Step = {
  name: '4_50_verification',
  title: 'Verify that tenants are kept apart',
  live: true,

  async up(context) {
    const act = await actAsAppStatements(context);
    for (const table of TENANT_TABLES) {
      await tryOut(context, `Count ${table} as ${APP_ROLE}`, [
        ...SET_LOCAL_OWNER_ROLE,
        keepCount(table),
        ...act,
        NOT_BY_THE_WAY,
        setTenant(DEFAULT_TENANT_ID),
        compareCount(table, `current_setting('tenancy.expected')::bigint`),
        setTenant(NO_TENANT),
        compareCount(table, '0'),
        setTenant(''),
        expectRefusal(table),
      ]);
    }
  },
};

const BEGIN = 'begin isolation level repeatable read';

/**
 * Tries statements out and rolls them back. It reads in one snapshot, while applications write.
 *
 * @throws {@link VerificationError} if one fails, unless for want of a lock
 */
async function tryOut(
  context: StepContext,
  title: string,
  statements: string[],
): Promise<void> {
  const { executor } = context;
  await executor.work({
    title: `${title}. ACCESS SHARE, which conflicts with no read or write.`,
    script: [BEGIN, ...statements, 'rollback'],
    async run() {
      // With SET LOCAL, Citus sends the whole message to the nodes: so a message for each statement.
      const sharded = await isSharded(executor);
      await withLockRetries(context, { title }, async timeoutMs => {
        const text = [
          BEGIN,
          `set local lock_timeout = ${timeoutMs}`,
          ...statements,
        ];
        try {
          for (const message of sharded ? text : [text.join(';\n')]) {
            await executor.session.query(message);
          }
        } finally {
          await executor.session.rollback();
        }
      }).catch(error => {
        throw error instanceof DatabaseError
          ? new VerificationError(
              `The tenants are not kept apart: ${describe(error)}`,
            )
          : error;
      });
    },
  });
}

function describe({ message, where, hint }: DatabaseError): string {
  return [message, hint, where && `(${where.split('\n')[0]})`]
    .filter(Boolean)
    .join(' ');
}

/**
 * The statements after which a transaction acts as the application, under
 * row-level security like any of its sessions.
 */
async function actAsAppStatements(context: StepContext): Promise<string[]> {
  const access = await readRoleAccess(context);
  const member = access.superuser || access.app.settable;
  if (!member && !access.app.grantable) {
    throw new RefusedError(
      `${
        access.login
      } may not act as ${APP_ROLE}, to see what that sees. Let a superuser run "${grantAppToLogin(
        access,
      )}".`,
    );
  }
  return [
    'set local row_security = on',
    // Rolled back with the transaction.
    ...(member ? [] : [SET_LOCAL_STARTING_ROLE, grantAppToLogin(access)]),
    `set local role ${APP_ROLE}`,
    // For the tenant that is set next: elsewhere than on Citus it means nothing.
    `set local citus.propagate_set_commands = 'local'`,
  ];
}

function setTenant(tenantId: string): string {
  return `set local ${TENANT_SETTING} = ${escapeLiteral(tenantId)}`;
}

function keepCount(table: string): string {
  // Apart from the count, which Citus runs where the rows are.
  return `do $$
declare
  counted bigint := (select count(*) from ${table} where tenant_id = '${DEFAULT_TENANT_ID}');
begin
  perform set_config('tenancy.expected', counted::text, true);
end $$`;
}

function compareCount(table: string, expected: string): string {
  return `do $$
declare
  seen bigint := (select count(*) from ${table});
begin
  if seen <> ${expected} then
    raise exception 'with app.tenant_id = %, % rows of ${table} are seen instead of %',
      current_setting('app.tenant_id'), seen, ${expected};
  end if;
end $$`;
}

function expectRefusal(table: string): string {
  return `do $$ begin
  begin
    -- Of one tenant, so that on Citus it is one node that refuses, in its own words.
    perform count(*) from ${table} where tenant_id = '${DEFAULT_TENANT_ID}';
  exception when insufficient_privilege then
    if sqlerrm = 'permission denied for table ${table}' then
      return;
    end if;
    raise;
  end;
  raise exception 'without a tenant, ${table} can be read';
end $$`;
}
