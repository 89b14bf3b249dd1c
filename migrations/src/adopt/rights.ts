import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { ADMIN_ROLE } from '../roles';
import { RESET_OWNER_ROLE, SET_OWNER_ROLE } from '../session/ownerRole';
import { ADMIN_POLICY } from '../schema/policies';
import { refuseWithoutRights } from '../schema/rights';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { ENGINE_TABLES, engineTable } from './engine';
import type { Engine, EngineTable } from './engine';
import { QUOTA_SEQUENCE } from './quota';
import { tablesWithoutTriggers } from './triggers';
import { putState, readState } from './state';

/**
 * The columns for which we grant UPDATE: PostgreSQL requires it of FOR SHARE. Our functions
 * never update them.
 */
const LOCKED_COLUMNS: Partial<Record<EngineTable, string>> = {
  final_entities: 'entity_id',
  refresh_state: 'entity_id',
  refresh_state_references: 'id',
};

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
  // Also in a dry run, which reads as the same role.
  await executor.read(RESET_OWNER_ROLE);
  const result = await work().catch(async error => {
    // For a command that goes on. The error of a session that has ended comes first.
    await executor.read(SET_OWNER_ROLE).catch(() => undefined);
    throw error;
  });
  await executor.read(SET_OWNER_ROLE);
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
  const { schema } = engine;
  const tables = await tablesWithoutTriggers(executor, engine);
  await asLogin({ executor }, () =>
    refuseWithoutRights(executor, {
      tables: tables.map(table => ({ schema, table, rights: ['own'] })),
    }),
  );
}

/**
 * Lets `portal_admin`, as whom the functions of the adoption run, look into the schema of the
 * engine's tables, and records how to take back what it and {@link privilegesOnTable} grant: not
 * what somebody has granted before.
 */
export async function grantOnEngine(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const { executor } = context;
  const usage = schemaUsage(engine);
  const isMissing = await lacksUsage(executor, engine);
  const { grants = [] } = await readState(executor, engine.tenantId);
  const granted = [
    ...(isMissing ? [usage] : []),
    ...(await missingOnTables(executor, engine)),
  ].map(each => `revoke ${each} from ${ADMIN_ROLE}`);
  await executor.execute(
    putState(engine.tenantId, 'grants', [...new Set([...grants, ...granted])]),
  );
  if (isMissing) {
    await asLogin(context, () =>
      executor.execute(`grant ${usage} to ${ADMIN_ROLE}`),
    );
  }
}

async function missingOnTables(
  executor: Executor,
  engine: Engine,
): Promise<string[]> {
  const missing = await executor.read<{ privilege: string }>(
    `select w.privilege
       from jsonb_to_recordset($1::jsonb) as w (name text, of_column text, privilege text)
      where not exists (
        select from pg_class r join pg_namespace n on n.oid = r.relnamespace
          left join pg_attribute c on c.attrelid = r.oid and c.attname = w.of_column
          cross join aclexplode(case when w.of_column is null then r.relacl else c.attacl end) a
          join pg_roles g on g.oid = a.grantee
         where n.nspname = $2 and r.relname = w.name and g.rolname = '${ADMIN_ROLE}'
           and a.privilege_type = case when w.of_column is null then 'SELECT' else 'UPDATE' end)`,
    [
      JSON.stringify(
        ENGINE_TABLES.flatMap(name =>
          privilegesOnTable(engine, name).map((privilege, index) => ({
            name,
            of_column: index === 0 ? null : LOCKED_COLUMNS[name],
            privilege,
          })),
        ),
      ),
      engine.schema,
    ],
  );
  return missing.map(({ privilege }) => privilege);
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
  if (!(await lacksUsage(executor, engine))) {
    return;
  }
  const [{ may }] = await asLogin({ executor }, () =>
    executor.read<{ may: boolean }>(
      `select has_schema_privilege(current_user, $1, 'USAGE WITH GRANT OPTION') as may`,
      [engine.schema],
    ),
  );
  if (!may) {
    throw new RefusedError(
      `${ADMIN_ROLE} has to read the tables of the catalog in the schema "${engine.schema}", ` +
        `which is not this login's. Let its owner, or a superuser, run\n` +
        `grant ${schemaUsage(engine)} to ${ADMIN_ROLE};`,
    );
  }
}

async function lacksUsage(
  executor: Executor,
  { schema }: Engine,
): Promise<boolean> {
  const [{ lacks }] = await executor.read<{ lacks: boolean }>(
    `select not has_schema_privilege($1, $2, 'usage') as lacks`,
    [ADMIN_ROLE, schema],
  );
  return lacks;
}

/**
 * Why `portal_admin`, as whom the triggers run, does not see all rows of the engine; nothing where
 * it does. It would take what is hidden for deleted.
 */
export async function describeHiddenRows(
  { executor }: Pick<StepContext, 'executor'>,
  engine: Engine,
): Promise<string | undefined> {
  const hidden = await executor.read<{
    name: EngineTable;
    isAdmitted: boolean;
    restrictive: string[];
  }>(
    `select * from (
       select r.relname as name, exists (
                select from pg_policy p
                 where p.polrelid = r.oid and p.polpermissive and p.polcmd = '*'
                   and a.oid = any (p.polroles) and pg_get_expr(p.polqual, p.polrelid) = 'true') as "isAdmitted",
              array(select quote_ident(p.polname) from pg_policy p
                     where p.polrelid = r.oid and not p.polpermissive and exists (
                       select from unnest(p.polroles) role
                        where role = 0 or pg_has_role(a.oid, role, 'USAGE'))
                     order by 1) as restrictive
         from pg_class r join pg_namespace n on n.oid = r.relnamespace
         join pg_roles a on a.rolname = '${ADMIN_ROLE}' and not a.rolbypassrls
        where n.nspname = $1 and r.relname = any ($2) and r.relrowsecurity) secured
      where not "isAdmitted" or restrictive <> '{}' order by 1`,
    [engine.schema, ENGINE_TABLES],
  );
  if (hidden.length === 0) {
    return undefined;
  }
  const statements = hidden.flatMap(({ name, isAdmitted, restrictive }) => {
    const table = engineTable(engine, name);
    return [
      ...(isAdmitted
        ? []
        : [
            `create policy ${ADMIN_POLICY} on ${table} to ${ADMIN_ROLE} using (true);`,
          ]),
      ...restrictive.map(
        policy => `alter policy ${policy} on ${table} to <other roles>;`,
      ),
    ];
  });
  return (
    `Row-level security hides rows of ${hidden
      .map(({ name }) => name)
      .join(', ')} in the schema "${engine.schema}" from ${ADMIN_ROLE}. ` +
    `Let the owner run\n${statements.join('\n')}`
  );
}

export function schemaUsage({ schema }: Engine): string {
  return `usage on schema ${escapeIdentifier(schema)}`;
}

/** What the functions need of an engine, without the verb and the role. */
export function privilegesOn(engine: Engine): string[] {
  return [
    schemaUsage(engine),
    ...(engine.tenantId === DEFAULT_TENANT_ID ? [] : [quotaPrivilege(engine)]),
    ...ENGINE_TABLES.flatMap(table => privilegesOnTable(engine, table)),
  ];
}

/** The same of its quota. */
export function quotaPrivilege({ schema }: Engine): string {
  return `usage, update on sequence ${escapeIdentifier(
    schema,
  )}.${QUOTA_SEQUENCE}`;
}

/** The same of one of its tables. */
export function privilegesOnTable(
  engine: Engine,
  table: EngineTable,
): string[] {
  const name = engineTable(engine, table);
  const column = LOCKED_COLUMNS[table];
  return [
    `select on table ${name}`,
    ...(column ? [`update (${column}) on table ${name}`] : []),
  ];
}
