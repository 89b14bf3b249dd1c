import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { ADMIN_ROLE } from '../roles';
import {
  revokeAllOnFunctionStatement,
  revokeAllStatement,
} from '../schema/grants';
import { waitForOlderSnapshots } from '../engine/olderTransactions';
import { inheritStatements } from '../schema/membership';
import { RESET_OWNER_ROLE, SET_OWNER_ROLE } from '../session/ownerRole';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { ENGINE_TABLES, engineTable } from './engine';
import type { Engine, EngineTable } from './engine';
import { QUOTA_SEQUENCE } from './functions/quota';
import {
  FUNCTION_SIGNATURES,
  readFunctions,
  tablesWithoutTriggers,
} from './objects';
import {
  adoptedEngine,
  adoptedEngines,
  ADOPTION_STATE,
  FAULTS,
  putState,
  readState,
} from './state';

/** The configured role, or the login where the session acts as `portal_admin`. As SQL. */
const OWN_ROLE = `case current_user when '${ADMIN_ROLE}' then session_user else current_user end`;

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
  if (may || !(await actsAsAdmin(executor))) {
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
  const [other] = await executor.read<{
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
        and not pg_has_role(${OWN_ROLE}, r.relowner, 'USAGE')
      order by 2 limit 1`,
    [engine.schema, tables],
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

/** Spares {@link followOwner} a look-up. */
interface OwnerOptions {
  engine?: Engine;
  /** The owner of our tables after the step that calls it. */
  owner?: string;
}

/**
 * Gives the functions, which are SECURITY DEFINER, to the owner of our tables, and grants
 * that role SELECT on the engine's tables. Phase 4 hands our tables to `portal_admin`, and
 * its undo hands them back. Meanwhile the functions run as the former owner, which may
 * still write to our tables; so phase 4 calls this last, and its undo first.
 *
 * @throws {@link RefusedError} if the login may not let that role read those tables
 */
export async function followOwner(
  context: StepContext,
  options: OwnerOptions = {},
): Promise<void> {
  // Without an engine the way back before phase 5 has dropped them, or is about to.
  if ((await adoptedEngines(context)).length === 0 && !options.engine) {
    return;
  }
  const engine = options.engine ?? (await adoptedEngine(context));
  await giveFunctions(
    context,
    engine,
    options.owner ?? (await ownerOf(context, 'entities')),
  );
  if (options.owner) {
    await waitForFormerOwner(context);
  }
}

/**
 * A running trigger function keeps the owner that it had when it began. If our tables
 * changed owner meanwhile, it could neither carry the change nor record a fault.
 */
async function waitForFormerOwner(context: StepContext): Promise<void> {
  await waitForOlderSnapshots(
    context,
    "the engine's writes among them may carry changes as the former owner",
  );
  const functions = await readFunctions(context.executor);
  await asLogin(context, () =>
    context.executor.transaction({
      title: 'Take what carries changes from its former owner',
      locks: 'None that conflicts with reads or writes.',
      statements: [
        revokeAllStatement(FAULTS),
        ...functions.map(revokeAllOnFunctionStatement),
      ],
    }),
  );
}

async function giveFunctions(
  context: StepContext,
  engine: Engine | undefined,
  owner: string,
): Promise<void> {
  const { executor } = context;
  const others = await ownedByOthers(context, owner);
  const missing = engine ? await missingGrants(context, engine, owner) : [];
  if (others.length === 0 && missing.length === 0) {
    return;
  }
  const role = escapeIdentifier(owner);
  const functions = await readFunctions(executor);
  if (engine && missing.length > 0) {
    await refuseWithoutRight(context, engine, missing, role);
  }
  const recorded = engine
    ? [await recordGrants(executor, engine, missing, role)]
    : [];
  const formerOwner = escapeIdentifier(await ownerOf(context, FAULTS));
  await asLogin(context, () =>
    executor.transaction({
      title: `Let the functions of the adoption belong to ${owner}`,
      locks:
        `ACCESS EXCLUSIVE on ${FAULTS} and ${ADOPTION_STATE}, for a change of the ` +
        'catalog. Functions and privileges need no lock on a table.',
      statements: [
        ...missing.map(each => `grant ${each} to ${role}`),
        ...recorded,
        ...others.map(each => `alter ${each} owner to ${role}`),
        // For triggers that run: see waitForFormerOwner.
        `grant select, insert, update, delete on ${FAULTS} to ${formerOwner}`,
        ...functions.map(
          signature =>
            `grant execute on function ${signature} to ${formerOwner}`,
        ),
      ],
    }),
  );
}

async function recordGrants(
  executor: Executor,
  { tenantId }: Engine,
  missing: string[],
  role: string,
): Promise<string> {
  const { grants = [] } = await readState(executor, tenantId);
  const revokes = missing.map(each => `revoke ${each} from ${role}`);
  return putState(tenantId, 'grants', [...grants, ...revokes]);
}

/**
 * Refuses as {@link followOwner} does, before anything is changed.
 *
 * @throws {@link RefusedError} if the login may not let our tables' owner read the engine's
 */
export async function refuseMissingRights(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const owner = await ownerOf(context, 'entities');
  const missing = await missingGrants(context, engine, owner);
  if (missing.length > 0) {
    await refuseWithoutRight(context, engine, missing, escapeIdentifier(owner));
  }
}

async function refuseWithoutRight(
  { executor }: StepContext,
  engine: Engine,
  missing: string[],
  role: string,
): Promise<void> {
  const [{ may }] = await executor.read<{ may: boolean }>(
    `select pg_has_role(${OWN_ROLE}, r.relowner, 'USAGE')
        and ($3 or has_schema_privilege(${OWN_ROLE}, n.oid, 'USAGE WITH GRANT OPTION')) as may
       from pg_class r join pg_namespace n on n.oid = r.relnamespace
      where n.nspname = $1 and r.relname = $2`,
    [
      engine.schema,
      'final_entities',
      !missing.includes(schemaUsage(engine.schema)),
    ],
  );
  if (!may) {
    throw new RefusedError(
      `The tables of the catalog in the schema "${engine.schema}", or the schema, are ` +
        `not this login's, and ${role} has to read them. Let their owner, or a ` +
        `superuser, run\n${missing
          .map(each => `grant ${each} to ${role}`)
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

/** The owner of a table of ours; of one that is still to be created, the current user. */
export async function ownerOf(
  { executor }: StepContext,
  table: string,
): Promise<string> {
  const [row] = await executor.read<{ owner: string }>(
    `select coalesce((select pg_get_userbyid(relowner) from pg_class
                       where oid = to_regclass($1)), current_user) as owner`,
    [table],
  );
  return row.owner;
}

async function ownedByOthers(
  { executor }: StepContext,
  owner: string,
): Promise<string[]> {
  const rows = await executor.read<{ what: string }>(
    `select 'function ' || p.oid::regprocedure as what
       from unnest($1::text[]) s join pg_proc p on p.oid = to_regprocedure(s)
      where pg_get_userbyid(p.proowner) <> $3
      union all
     select 'table ' || c.oid::regclass
       from unnest($2::text[]) s join pg_class c on c.oid = to_regclass(s)
      where pg_get_userbyid(c.relowner) <> $3`,
    [FUNCTION_SIGNATURES, [FAULTS, ADOPTION_STATE], owner],
  );
  return rows.map(({ what }) => what);
}

/** The privileges that the owner still lacks, without the verb and the role. */
async function missingGrants(
  { executor }: StepContext,
  engine: Engine,
  owner: string,
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
      [owner, engine.schema],
    );
    if (!row.held) {
      missing.push(privilege);
    }
  }
  return missing;
}
