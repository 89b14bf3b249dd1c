import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { ADMIN_ROLE } from '../roles';
import { RESET_OWNER_ROLE, SET_OWNER_ROLE } from '../session/ownerRole';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { script } from '../text';
import { describeEngine, ENGINE_TABLES, engineTable } from './engine';
import type { Engine, EngineTable } from './engine';
import { QUOTA_SEQUENCE } from './quota';
import { tablesWithoutTriggers } from './triggers';
import { putState, readState } from './state';

/**
 * The columns for which we grant UPDATE: PostgreSQL requires it of FOR SHARE. Our functions
 * never update them.
 */
const LOCKED_COLUMNS: { table: EngineTable; column: string }[] = [
  { table: 'final_entities', column: 'entity_id' },
  { table: 'refresh_state', column: 'entity_id' },
  { table: 'refresh_state_references', column: 'id' },
];

/**
 * Works as the configured role, or the login, which owns the engine's tables: `portal_admin`
 * does not.
 */
export async function asLogin<T>(
  { executor }: Pick<StepContext, 'executor'>,
  work: () => Promise<T>,
): Promise<T> {
  const [{ acting }] = await executor.read<{ acting: boolean }>(
    `select current_user = '${ADMIN_ROLE}' and session_user <> current_user as acting`,
  );
  if (!acting) {
    return work();
  }
  await executor.execute(RESET_OWNER_ROLE);
  const result = await work();
  await executor.execute(SET_OWNER_ROLE);
  return result;
}

/**
 * Reads a table of the engine: as the login where `portal_admin` has no right to it, which
 * only an adoption grants.
 */
export async function reading<T>(
  { executor }: Pick<StepContext, 'executor'>,
  engine: Engine,
  read: () => Promise<T>,
): Promise<T> {
  const [{ may }] = await executor.read<{ may: boolean }>(
    `select has_schema_privilege(n.oid, 'usage') and has_table_privilege(r.oid, 'select') as may
       from pg_class r join pg_namespace n on n.oid = r.relnamespace
      where n.nspname = $1 and r.relname = 'final_entities'`,
    [engine.schema],
  );
  return may ? read() : asLogin({ executor }, read);
}

/**
 * Triggers on a table are its owner's to create.
 *
 * @throws {@link RefusedError} if some still have to be, on a table that is not the
 *   login's
 */
export async function refuseOthersTables(
  { executor }: StepContext,
  engine: Engine,
): Promise<void> {
  const tables = await tablesWithoutTriggers(executor, engine);
  const [other] = await asLogin({ executor }, () =>
    executor.read<{
      login: string;
      table: string;
      owner: string;
      member: boolean;
      inherit: string;
    }>(
      `select session_user as login, r.relname as table,
            pg_get_userbyid(r.relowner) as owner,
            pg_has_role(session_user, r.relowner, 'MEMBER') as member,
            format(case when current_setting('server_version_num')::int >= 160000
                     then 'grant %1$I to %2$I with inherit true' else 'alter role %2$I inherit' end,
                   pg_get_userbyid(r.relowner), session_user) as inherit
       from pg_class r join pg_namespace n on n.oid = r.relnamespace
      where n.nspname = $1 and r.relname = any ($2)
        and not pg_has_role(current_user, r.relowner, 'USAGE')
      order by 2 limit 1`,
      [engine.schema, tables],
    ),
  );
  if (other) {
    const { login, table, owner, member, inherit } = other;
    const advice = member
      ? `The login is a member that does not inherit the rights: run\n${inherit};`
      : `Connect as "${owner}", as a member of it, or as a superuser.`;
    throw new RefusedError(
      `The table ${table} of the catalog in the schema "${engine.schema}" belongs to ` +
        `"${owner}", and the login "${login}" may not create triggers on it. ${advice}`,
    );
  }
}

/**
 * Grants `portal_admin`, as whom the functions of the adoption run, what they read of the
 * engine's tables, and records how to take it back.
 */
export async function grantOnEngine(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const { executor } = context;
  const missing = await missingPrivileges(executor, engine);
  if (missing.length === 0) {
    return;
  }
  const { grants = [] } = await readState(executor, engine.tenantId);
  const revokes = missing.map(each => `revoke ${each} from ${ADMIN_ROLE}`);
  await asLogin(context, () =>
    executor.transaction({
      title: `Let ${ADMIN_ROLE} read the tables of ${describeEngine(engine)}`,
      locks: 'Privileges need no lock on a table.',
      statements: [
        ...missing.map(each => `grant ${each} to ${ADMIN_ROLE}`),
        putState(engine.tenantId, 'grants', [...grants, ...revokes]),
      ],
    }),
  );
}

/**
 * Refuses before anything is changed what {@link grantOnEngine} may not do.
 *
 * @throws {@link RefusedError} if the login may not let `portal_admin` read the engine's tables
 */
export async function refuseMissingRights(
  { executor }: StepContext,
  engine: Engine,
): Promise<void> {
  const missing = await missingPrivileges(executor, engine);
  if (missing.length === 0) {
    return;
  }
  const [{ may }] = await asLogin({ executor }, () =>
    executor.read<{ may: boolean }>(
      `select pg_has_role(current_user, r.relowner, 'USAGE')
        and ($2 or has_schema_privilege(current_user, n.oid, 'USAGE WITH GRANT OPTION')) as may
       from pg_class r join pg_namespace n on n.oid = r.relnamespace
      where n.nspname = $1 and r.relname = 'final_entities'`,
      [engine.schema, !missing.includes(schemaUsage(engine))],
    ),
  );
  if (!may) {
    throw new RefusedError(
      `${ADMIN_ROLE} has to read the tables of the catalog in the schema "${engine.schema}", ` +
        `which are not this login's. Let their owner, or a superuser, run\n${script(
          missing.map(each => `grant ${each} to ${ADMIN_ROLE}`),
        )}`,
    );
  }
}

function schemaUsage({ schema }: Engine): string {
  return `usage on schema ${escapeIdentifier(schema)}`;
}

/** What the functions need of an engine, without the verb and the role. */
export function privilegesOn(engine: Engine): string[] {
  return needs(engine).map(({ privilege }) => privilege);
}

/** Each privilege with the condition that `portal_admin` has it. */
function needs(engine: Engine): { privilege: string; held: string }[] {
  const role = escapeLiteral(ADMIN_ROLE);
  const schema = escapeLiteral(engine.schema);
  // By oid: a look-up by name fails for a role without USAGE on the schema.
  const oidOf = (relation: string) =>
    `(select r.oid from pg_class r join pg_namespace n on n.oid = r.relnamespace
       where n.nspname = ${schema} and r.relname = '${relation}')`;
  const quota = oidOf(QUOTA_SEQUENCE);
  return [
    {
      privilege: schemaUsage(engine),
      held: `has_schema_privilege(${role}, ${schema}, 'usage')`,
    },
    ...(engine.tenantId === DEFAULT_TENANT_ID
      ? []
      : [
          {
            privilege: `usage, update on sequence ${escapeIdentifier(
              engine.schema,
            )}.${QUOTA_SEQUENCE}`,
            held: ['usage', 'update']
              .map(
                each => `has_sequence_privilege(${role}, ${quota}, '${each}')`,
              )
              .join(' and '),
          },
        ]),
    ...ENGINE_TABLES.map(table => ({
      privilege: `select on table ${engineTable(engine, table)}`,
      held: `has_table_privilege(${role}, ${oidOf(table)}, 'select')`,
    })),
    ...LOCKED_COLUMNS.map(({ table, column }) => ({
      privilege: `update (${column}) on table ${engineTable(engine, table)}`,
      held: `has_any_column_privilege(${role}, ${oidOf(table)}, 'update')`,
    })),
  ];
}

/** The privileges that `portal_admin` still lacks, without the verb and the role. */
async function missingPrivileges(
  executor: Executor,
  engine: Engine,
): Promise<string[]> {
  const values = needs(engine).map(
    ({ privilege, held }) => `(${escapeLiteral(privilege)}, ${held})`,
  );
  const rows = await executor.read<{ privilege: string }>(
    `select privilege from (values ${values.join(
      ', ',
    )}) needed (privilege, held) where held is not true`,
  );
  return rows.map(({ privilege }) => privilege);
}
