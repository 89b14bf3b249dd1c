import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { ADMIN_ROLE } from '../roles';
import { inheritStatements } from '../schema/membership';
import { RESET_OWNER_ROLE, SET_OWNER_ROLE } from '../session/ownerRole';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { describeEngine, ENGINE_TABLES, engineTable } from './engine';
import type { Engine, EngineTable } from './engine';
import { QUOTA_SEQUENCE } from './functions/quota';
import { tablesWithoutTriggers } from './objects';
import { putState, readState } from './state';

/**
 * The column for which we grant UPDATE: PostgreSQL requires it of FOR SHARE. Our
 * functions never update it.
 */
const LOCKING: Partial<Record<EngineTable, string>> = {
  final_entities: 'entity_id',
  refresh_state: 'entity_id',
  refresh_state_references: 'id',
};

/** Works as the login, which owns the engine's tables; `portal_admin` does not. */
export async function asLogin(
  { executor }: Pick<StepContext, 'executor'>,
  work: () => Promise<void>,
): Promise<void> {
  const acting = await actsAsAdmin(executor);
  if (acting) {
    await executor.execute(RESET_OWNER_ROLE);
  }
  await work();
  if (acting) {
    await executor.execute(SET_OWNER_ROLE);
  }
}

async function actsAsAdmin(executor: Executor): Promise<boolean> {
  const [{ acting }] = await executor.read<{ acting: boolean }>(
    `select current_user = '${ADMIN_ROLE}' and session_user <> current_user as acting`,
  );
  return acting;
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
  return may ? read() : readingAsLogin(executor, read);
}

/** Reads as the configured role, or the login, where the session acts as `portal_admin`. */
async function readingAsLogin<T>(
  executor: Executor,
  read: () => Promise<T>,
): Promise<T> {
  if (!(await actsAsAdmin(executor))) {
    return read();
  }
  // Not printed by a dry run, which reads as the same role.
  await executor.read(RESET_OWNER_ROLE);
  const result = await read();
  await executor.read(SET_OWNER_ROLE);
  return result;
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
  const [other] = await readingAsLogin(executor, () =>
    executor.read<{
      login: string;
      table: string;
      owner: string;
      member: boolean;
    }>(
      `select session_user as login, r.relname as table,
            pg_get_userbyid(r.relowner) as owner,
            pg_has_role(session_user, r.relowner, 'MEMBER') as member
       from pg_class r join pg_namespace n on n.oid = r.relnamespace
      where n.nspname = $1 and r.relname = any ($2)
        and not pg_has_role(current_user, r.relowner, 'USAGE')
      order by 2 limit 1`,
      [engine.schema, tables],
    ),
  );
  if (other) {
    const { login, table, owner, member } = other;
    const advice = member
      ? `The login is a member that does not inherit the rights: run\n${(
          await inheritStatements(executor, owner)
        ).join(';\n')};`
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
  const missing = await missingGrants(context, engine);
  if (missing.length === 0) {
    return;
  }
  const recorded = await recordGrants(context.executor, engine, missing);
  await asLogin(context, () =>
    context.executor.transaction({
      title: `Let ${ADMIN_ROLE} read the tables of ${describeEngine(engine)}`,
      locks: 'Privileges need no lock on a table.',
      statements: [
        ...missing.map(each => `grant ${each} to ${ADMIN_ROLE}`),
        recorded,
      ],
    }),
  );
}

async function recordGrants(
  executor: Executor,
  { tenantId }: Engine,
  missing: string[],
): Promise<string> {
  const { grants = [] } = await readState(executor, tenantId);
  const revokes = missing.map(each => `revoke ${each} from ${ADMIN_ROLE}`);
  return putState(tenantId, 'grants', [...grants, ...revokes]);
}

/**
 * Refuses before anything is changed what {@link grantOnEngine} may not do.
 *
 * @throws {@link RefusedError} if the login may not let `portal_admin` read the engine's tables
 */
export async function refuseMissingRights(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const missing = await missingGrants(context, engine);
  if (missing.length === 0) {
    return;
  }
  const { executor } = context;
  const [{ may }] = await readingAsLogin(executor, () =>
    executor.read<{ may: boolean }>(
      `select pg_has_role(current_user, r.relowner, 'USAGE')
        and ($3 or has_schema_privilege(current_user, n.oid, 'USAGE WITH GRANT OPTION')) as may
       from pg_class r join pg_namespace n on n.oid = r.relnamespace
      where n.nspname = $1 and r.relname = $2`,
      [
        engine.schema,
        'final_entities',
        !missing.includes(schemaUsage(engine.schema)),
      ],
    ),
  );
  if (!may) {
    throw new RefusedError(
      `The tables of the catalog in the schema "${engine.schema}", or the schema, are ` +
        `not this login's, and ${ADMIN_ROLE} has to read them. Let their owner, or a ` +
        `superuser, run\n${missing
          .map(each => `grant ${each} to ${ADMIN_ROLE}`)
          .join(';\n')};`,
    );
  }
}

function schemaUsage(schema: string): string {
  return `usage on schema ${escapeIdentifier(schema)}`;
}

function quotaPrivilege(schema: string): string {
  return `usage, update on sequence ${escapeIdentifier(
    schema,
  )}.${QUOTA_SEQUENCE}`;
}

/** What the functions need of another tenant's engine, without the verb and the role. */
export function privilegesOn(engine: Engine): string[] {
  return [
    schemaUsage(engine.schema),
    quotaPrivilege(engine.schema),
    ...ENGINE_TABLES.flatMap(table => {
      const name = engineTable(engine, table);
      const column = LOCKING[table];
      return [
        `select on table ${name}`,
        ...(column ? [`update (${column}) on table ${name}`] : []),
      ];
    }),
  ];
}

/** The privileges that `portal_admin` still lacks, without the verb and the role. */
async function missingGrants(
  { executor }: StepContext,
  engine: Engine,
): Promise<string[]> {
  // By oid: a look-up by name fails for a role without USAGE on the schema.
  const oidOf = (table: string) =>
    `(select r.oid from pg_class r join pg_namespace n on n.oid = r.relnamespace
       where n.nspname = $2 and r.relname = '${table}')`;
  const wanted = [
    {
      held: `has_schema_privilege($1, $2, 'usage')`,
      privilege: schemaUsage(engine.schema),
    },
    ...(engine.tenantId === DEFAULT_TENANT_ID
      ? []
      : [
          {
            held: `has_sequence_privilege($1, ${oidOf(
              QUOTA_SEQUENCE,
            )}, 'usage') and has_sequence_privilege($1, ${oidOf(
              QUOTA_SEQUENCE,
            )}, 'update')`,
            privilege: quotaPrivilege(engine.schema),
          },
        ]),
    ...ENGINE_TABLES.flatMap(table => {
      const name = engineTable(engine, table);
      const column = LOCKING[table];
      return [
        {
          held: `has_table_privilege($1, ${oidOf(table)}, 'select')`,
          privilege: `select on table ${name}`,
        },
        ...(column
          ? [
              {
                held: `has_any_column_privilege($1, ${oidOf(table)}, 'update')`,
                privilege: `update (${column}) on table ${name}`,
              },
            ]
          : []),
      ];
    }),
  ];
  const missing: string[] = [];
  for (const { held, privilege } of wanted) {
    const [row] = await executor.read<{ held: boolean }>(
      `select ${held} as held`,
      [ADMIN_ROLE, engine.schema],
    );
    if (!row.held) {
      missing.push(privilege);
    }
  }
  return missing;
}
