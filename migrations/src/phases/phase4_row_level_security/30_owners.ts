import { RefusedError } from '../../errors';
import type { Step, StepContext } from '../../engine/Step';
import { readRoleAccess } from '../../schema/roleAccess';
import { ADMIN_ROLE, APP_PRIVILEGES, ownerStatement } from '../../roles';
import { existingTables } from '../../schema/lookups';
import { escapeIdentifier } from '../../sql';
import { TENANT_TABLES } from '../../schema/tables';
import { RESET_OWNER_ROLE, SET_OWNER_ROLE } from '../../session/ownerRole';

const TABLES = [...TENANT_TABLES, 'tenants'] as const;

/** What the undo restores. */
interface FormerOwner {
  owner: string;
}

/**
 * Makes `portal_admin` the owner of the tables. The former owner, as which applications
 * may still be connected, gets grants to go on reading and writing.
 */
export const owners: Step = {
  name: '4_30_owners',
  title: `Hand the tables to ${ADMIN_ROLE}`,

  async up(context) {
    // A repeated command may find some tables handed over and act as portal_admin, which
    // cannot hand over the others.
    await actAsOwner(context, RESET_OWNER_ROLE);
    for (const table of await existingTables(context.executor, TABLES)) {
      await handOver(context, table);
    }
    await actAsOwner(context, SET_OWNER_ROLE);
  },

  async down(context) {
    await checkOwnersCanBeRestored(context);
    for (const table of TABLES) {
      await handBack(context, table);
    }
    await actAsOwner(context, RESET_OWNER_ROLE);
  },
};

/**
 * Refuses an undo that the login may not perform: ALTER TABLE … OWNER TO needs the rights
 * of both owners at once, which SET ROLE does not give.
 */
export async function checkOwnersCanBeRestored(
  context: StepContext,
): Promise<void> {
  const refused: string[] = [];
  for (const table of TABLES) {
    const former = await context.state.get<FormerOwner>(stateKey(table));
    const [{ may }] = await context.executor.read<{ may: boolean }>(
      `select coalesce(bool_and(pg_has_role(session_user, oid, 'USAGE')), true) as may
         from pg_roles where rolname = any ($1)`,
      [[former?.owner, former && ADMIN_ROLE].filter(Boolean)],
    );
    if (former && !may) {
      refused.push(
        `alter table ${table} owner to ${escapeIdentifier(former.owner)}`,
      );
    }
  }
  if (refused.length > 0) {
    throw new RefusedError(
      'The login may not hand the tables back to their former owners. Let a superuser ' +
        `undo this phase, or run:\n${refused.join(';\n')};`,
    );
  }
}

async function handOver(context: StepContext, table: string): Promise<void> {
  const { executor, state } = context;
  const owner = await ownerOf(context, table);
  if (owner === ADMIN_ROLE) {
    return;
  }
  const former: FormerOwner = { owner };
  await executor.transaction({
    title: `Hand ${table} to ${ADMIN_ROLE}`,
    locks: `ACCESS EXCLUSIVE on ${table}, for a change of the catalog: no row is touched.`,
    tables: [table],
    statements: [
      state.put(stateKey(table), former),
      ownerStatement(table),
      `set local role ${ADMIN_ROLE}`,
      `grant ${APP_PRIVILEGES.join(
        ', ',
      )} on table ${table} to ${escapeIdentifier(owner)}`,
    ],
  });
}

async function handBack(context: StepContext, table: string): Promise<void> {
  const former = await context.state.get<FormerOwner>(stateKey(table));
  if (!former) {
    return;
  }
  await context.executor.transaction({
    title: `Hand ${table} back to ${former.owner}`,
    locks: `ACCESS EXCLUSIVE on ${table}, for a change of the catalog: no row is touched.`,
    tables: [table],
    statements: [
      'set local role none',
      // ALTER TABLE … OWNER TO merges its grants into the owner's rights.
      `alter table ${table} owner to ${escapeIdentifier(former.owner)}`,
      context.state.forget(stateKey(table)),
    ],
  });
}

// A superuser needs no role.
async function actAsOwner(
  context: StepContext,
  statement: string,
): Promise<void> {
  if (!(await readRoleAccess(context)).superuser) {
    await context.executor.execute(statement);
  }
}

async function ownerOf(
  { executor }: StepContext,
  table: string,
): Promise<string> {
  const [{ owner }] = await executor.read<{ owner: string }>(
    `select pg_get_userbyid(relowner) as owner from pg_class
      where oid = to_regclass($1)`,
    [table],
  );
  return owner;
}

function stateKey(table: string): string {
  return `phase4.owner.${table}`;
}
