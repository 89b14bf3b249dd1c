import { RefusedError } from '../../errors';
import type { Step, StepContext } from '../../engine/Step';
import { catalogOnly } from '../../schema/changes';
import { grantedPrivileges, grantStatement } from '../../schema/grants';
import type { Grant } from '../../schema/grants';
import { readRoleAccess } from '../../schema/roleAccess';
import { ADMIN_ROLE, APP_PRIVILEGES, ownerStatement } from '../../roles';
import { existingTables } from '../../schema/lookups';
import { escapeIdentifier } from '../../sql';
import { script } from '../../text';
import { TENANT_TABLES } from '../../schema/tables';
import {
  RESET_OWNER_ROLE,
  SET_LOCAL_STARTING_ROLE,
  SET_OWNER_ROLE,
  STARTING_ROLE,
} from '../../session/ownerRole';

const TABLES = [...TENANT_TABLES, 'tenants'] as const;
const KEPT: readonly string[] = APP_PRIVILEGES;

/** What the undo restores. */
interface FormerOwner {
  owner: string;
  /** What portal_admin had been granted before it became the owner. */
  replaced: Grant[];
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

  /**
   * ALTER TABLE … OWNER TO needs the rights of both owners at once, which SET ROLE does not give.
   */
  async refuseUndo(context) {
    const refused: string[] = [];
    for (const table of TABLES) {
      refused.push(...(await missingToHandBack(context, table)));
    }
    if (refused.length > 0) {
      throw new RefusedError(
        'The login may not hand the tables back to their former owners. Let a superuser ' +
          `undo this phase, or run:\n${script([...new Set(refused)])}`,
      );
    }
  },

  async down(context) {
    for (const table of TABLES) {
      await handBack(context, table);
    }
    await actAsOwner(context, RESET_OWNER_ROLE);
  },
};

/** The statements without which the login may not hand a table back. */
async function missingToHandBack(
  { executor, state }: StepContext,
  table: string,
): Promise<string[]> {
  const former = await state.get<FormerOwner>(stateKey(table));
  if (!former) {
    return [];
  }
  const owner = escapeIdentifier(former.owner);
  const [{ may, exists }] = await executor.read<{
    may: boolean;
    exists: boolean;
  }>(
    `select bool_and(r.oid is not null and pg_has_role(${STARTING_ROLE}, r.oid, 'USAGE')) as may,
            to_regrole($2) is not null as exists
       from unnest(array['${ADMIN_ROLE}', $1]) name left join pg_roles r on r.rolname = name`,
    [former.owner, owner],
  );
  return [
    ...(exists ? [] : [`create role ${owner}`]),
    ...(may ? [] : [`alter table ${table} owner to ${owner}`]),
  ];
}

async function handOver(context: StepContext, table: string): Promise<void> {
  const { executor, state } = context;
  const owner = await ownerOf(context, table);
  if (owner === ADMIN_ROLE) {
    return;
  }
  const granted = await ownersGrants(context, table, owner);
  const object = { kind: 'table', name: table, role: ADMIN_ROLE } as const;
  const before = await grantedPrivileges(executor, object);
  const former: FormerOwner = {
    owner,
    replaced: before.length > 0 ? [{ ...object, privileges: before }] : [],
  };
  await executor.transaction({
    title: `Hand ${table} to ${ADMIN_ROLE}`,
    locks: catalogOnly(table),
    tables: [table],
    statements: [
      state.put(stateKey(table), former),
      ownerStatement(table),
      `set local role ${ADMIN_ROLE}`,
      ...granted.map(grantStatement),
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
    locks: catalogOnly(table),
    tables: [table],
    statements: [
      SET_LOCAL_STARTING_ROLE,
      // ALTER TABLE … OWNER TO merges its grants into the owner's rights.
      `alter table ${table} owner to ${escapeIdentifier(former.owner)}`,
      ...former.replaced.map(grantStatement),
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

/** The rights with which the former owner goes on: those that it had. */
async function ownersGrants(
  { executor }: StepContext,
  table: string,
  owner: string,
): Promise<Grant[]> {
  const object = { kind: 'table', name: table, role: owner } as const;
  const held = await grantedPrivileges(executor, object);
  const privileges = held.filter(each => KEPT.includes(each));
  return privileges.length > 0 ? [{ ...object, privileges }] : [];
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
