import { DatabaseError } from 'pg';
import { bringAdoptionAlong, plansOnCitus } from '../adopt/functions';
import type { StepContext } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import {
  LockNotGrantedError,
  RefusedError,
  VerificationError,
} from '../errors';
import { operatorCommand } from '../operatorCommand';
import { functionStatements } from '../phases/phase5_partitions/15_search_tables/functions';
import { triggerStatements } from '../phases/phase5_partitions/15_search_tables/triggers';
import { ADMIN_ROLE } from '../roles';
import { TENANT_REQUIRED } from '../schema/policies';
import { withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { formatCount } from '../text';
import {
  isDistributed,
  nodeName,
  readNodes,
  SHARDED_TABLES,
} from '../schema/citus';
import {
  findObstacles,
  isSuperuser,
  refuseDependentsOfDistributed,
} from './obstacles';
import {
  checksum,
  copyRows,
  createTables,
  addKeysPoliciesAndGrants,
  readParts,
  replaceTables,
  SIDE,
} from './rebuild';
import type { TableParts } from './rebuild';

/** A foreign key to the registry, of a table that stays on the coordinator. */
interface LocalKey {
  table: string;
  name: string;
  definition: string;
}

/** The state key of what {@link undistribute} restores. */
const STATE = 'distributed';

/**
 * What a distribution has done.
 *
 * @public
 */
export interface Distribution {
  /** Whether the tables were not distributed before. */
  changed: boolean;
  /** Rows of each table, which its copy was compared with. */
  rows: Record<string, string>;
  /** For how long writers waited. */
  blockedMs: number;
}

// Everything runs in one transaction, which writers wait for, and readers do not: a command
// that is killed leaves what there was. Citus plans each message by itself, so the statements
// are sent one by one.

// Settings of the transaction, passed on to the nodes with `citus.propagate_set_commands`: the
// checksums compare what both sides print. A foreign key to a reference table lets Citus change
// shards only one after the other.
const SETTINGS = [
  `set local citus.propagate_set_commands = 'local'`,
  `set local timezone = 'UTC'`,
  `set local datestyle = 'ISO, MDY'`,
  `set local intervalstyle = 'postgres'`,
  `set local extra_float_digits = 1`,
  `set local bytea_output = 'hex'`,
  `set local citus.multi_shard_modify_mode = 'sequential'`,
  `set local citus.enable_unsafe_triggers = on`,
];

/** What the functions of the terms need on Citus: see {@link functionStatements}. */
const FOLLOWING = [
  'entity_terms_follow()',
  'entity_terms_sync(uuid, uuid[], jsonb[])',
];

// Called by policies and by functions that are no dependency of a table, so that Citus does not
// create these on the nodes by itself where they were there before its extension.
const CALLED = [
  TENANT_REQUIRED,
  'entity_terms_sync(uuid, uuid[], jsonb[])',
  'entity_terms_of(jsonb, uuid)',
  'entity_terms_number(numeric)',
  'entity_terms_fits(text)',
];

/**
 * The statements that revoke the functions by which SQL of the application could bypass the
 * tenant of its transaction: one sets another tenant on the node that has the rows, the others
 * send statements to nodes. Superusers, who move shards, keep all of them; portal_admin keeps
 * the second kind, by which a starting backend examines the nodes. They belong to a database.
 */
const REVOKE_BYPASSES = {
  /** On each node beside the coordinator, which sets the context of transactions by it. */
  onNodes:
    'revoke execute on function pg_catalog.set_config(text, text, boolean) from public',
  /** On the coordinator and on the nodes. */
  everywhere: `do $$
declare f regprocedure;
begin
  for f in select p.oid from pg_catalog.pg_proc p
            where p.pronamespace = 'pg_catalog'::regnamespace
              and (p.proname like 'run\\_command\\_on\\_%' or p.proname = 'master_run_on_worker')
  loop
    execute format('revoke execute on function %s from public', f);
    execute format('grant execute on function %s to ${ADMIN_ROLE}', f);
  end loop;
end $$`,
};

/**
 * Spreads the tables of tenants over the nodes of Citus.
 *
 * @throws {@link RefusedError} with everything that is in the way, before anything is changed
 */
export async function distribute(
  migration: TenancyMigration,
  { shards }: { shards?: number } = {},
): Promise<Distribution> {
  const { context } = migration;
  const { executor, settings } = context;
  const { read } = executor;
  if (await isDistributed(read, settings.schema)) {
    // A node that was added since has not been prepared, and to undo the distribution of another
    // database of these servers takes the login from their role.
    await prepareNodes(context);
    // An earlier version of its functions named a transition table where Citus takes none.
    await bringAdoptionAlong(context);
    // The registry, to which rows of tenants on a new node refer. Writers of the registry wait for
    // the copy (EXCLUSIVE), readers do not.
    await executor.execute(`select replicate_reference_tables('block_writes')`);
    return { changed: false, rows: {}, blockedMs: 0 };
  }
  const obstacles = await findObstacles(migration);
  if (obstacles.length > 0) {
    throw new RefusedError(
      `The catalog can't be distributed:\n${obstacles
        .map(each => `- ${each}`)
        .join('\n')}`,
    );
  }
  await prepareNodes(context);
  const parts = await readAllParts(context);
  const keys = await readLocalKeys(context);
  const definitions = [
    ...(await functionStatements(executor, settings.schema)),
    ...FOLLOWING.map(
      each => `alter function ${each} set plan_cache_mode = force_custom_plan`,
    ),
    ...plansOnCitus,
  ];
  const schema = escapeIdentifier(settings.schema);
  const tenants = escapeLiteral(`${schema}.tenants`);
  const distributeTable = (table: string, like: string) =>
    `select create_distributed_table('${SIDE}.${escapeIdentifier(
      table,
    )}', 'tenant_id', ${like})`;
  return rebuild(context, parts, {
    title: 'Distribute the tables of tenants',
    before: [
      ...definitions,
      // Names are those of the new tables from here on.
      `set local search_path = ${SIDE}, ${schema}`,
      ...createTables(parts, { partitioned: false }),
      ...SHARDED_TABLES.map((table, index) =>
        index === 0
          ? distributeTable(
              table,
              `colocate_with => 'none'${
                shards ? `, shard_count => ${shards}` : ''
              }`,
            )
          : distributeTable(table, `colocate_with => '${SIDE}.entities'`),
      ),
      ...CALLED.map(
        each =>
          `select create_distributed_function(${escapeLiteral(
            `${schema}.${each}`,
          )})`,
      ),
    ],
    after: [
      ...keys.map(
        ({ table, name }) =>
          `alter table ${table} drop constraint ${escapeIdentifier(name)}`,
      ),
      // Citus would make tables of its own of all that reference the registry.
      ...dropForeignKeys(schema, parts),
      `select create_reference_table(${tenants})`,
      ...addKeysPoliciesAndGrants(parts, { partitioned: false }),
      // A trigger on TRUNCATE has no place: Citus would fire it on each shard.
      ...triggerStatements('entities').filter(
        each => !each.includes('truncate'),
      ),
      ...replaceTables(settings.schema, parts, { partitioned: false }),
      context.state.put(STATE, { localKeys: keys }),
    ],
    finally: [
      ...SHARDED_TABLES.map(table => `analyze ${schema}.${table}`),
      `select truncate_local_data_after_distributing_table(${tenants})`,
    ],
  });
}

/**
 * Brings the tables back to the coordinator, partitioned as phase 5 makes them. Tenants with
 * partitions of their own get these by `partition`.
 *
 * @throws {@link RefusedError} while others' views and keys depend on them, before anything is changed
 */
export async function undistribute(
  migration: TenancyMigration,
): Promise<Distribution> {
  const { context } = migration;
  const { executor, settings, state } = context;
  const schema = escapeIdentifier(settings.schema);
  if (!(await isDistributed(executor.read, settings.schema))) {
    return { changed: false, rows: {}, blockedMs: 0 };
  }
  if (!(await isSuperuser(executor))) {
    throw new RefusedError(
      'Tables of Citus with triggers can only be changed by a superuser: connect as one.',
    );
  }
  await refuseDependentsOfDistributed(executor);
  const parts = await readAllParts(context);
  const { localKeys = [] } =
    (await state.get<{ localKeys: LocalKey[] }>(STATE)) ?? {};
  const grants = (
    await executor.read<{ statement: string }>(
      `select format('grant %s on %I.tenants to %s', string_agg(g.privilege_type, ', '), $1::text,
                     case g.grantee when 0 then 'public' else g.grantee::regrole::text end) as statement
         from pg_class t, aclexplode(t.relacl) g
        where t.oid = to_regclass('tenants') and g.grantee <> t.relowner
        group by g.grantee order by g.grantee`,
      [settings.schema],
    )
  ).map(({ statement }) => statement);
  return rebuild(context, parts, {
    title: 'Bring the tables of tenants back to the coordinator',
    before: [
      ...(await functionStatements(executor, settings.schema)),
      `set local search_path = ${SIDE}, ${schema}`,
      ...createTables(parts, { partitioned: true }),
    ],
    after: [
      ...dropForeignKeys(schema, parts),
      `select undistribute_table(${escapeLiteral(`${schema}.tenants`)})`,
      // To logins of the operator, which Citus leaves out.
      ...grants,
      ...addKeysPoliciesAndGrants(parts, { partitioned: true }),
      ...triggerStatements('entities'),
      ...replaceTables(settings.schema, parts, { partitioned: true }),
      ...localKeys.map(
        ({ table, name, definition }) =>
          `alter table ${table} add constraint ${escapeIdentifier(
            name,
          )} ${definition}`,
      ),
      `alter role ${ADMIN_ROLE} nologin`,
      state.forget(STATE),
    ],
    finally: SHARDED_TABLES.map(table => `analyze ${schema}.${table}`),
  });
}

function dropForeignKeys(schema: string, parts: TableParts[]): string[] {
  return parts.flatMap(({ table, foreignKeys }) =>
    foreignKeys.map(
      key =>
        `alter table ${schema}.${table} drop constraint ${
          / add constraint ("(?:[^"]|"")+"|\S+) /.exec(key)![1]
        }`,
    ),
  );
}

async function readAllParts({ executor }: StepContext): Promise<TableParts[]> {
  const parts: TableParts[] = [];
  for (const table of SHARDED_TABLES) {
    parts.push(await readParts(executor, table));
  }
  return parts;
}

/** The foreign keys to the registry of tables that are not distributed. */
async function readLocalKeys({ executor }: StepContext): Promise<LocalKey[]> {
  return executor.read<LocalKey>(
    `select k.conrelid::regclass::text as table, k.conname as name,
            pg_get_constraintdef(k.oid) as definition
       from pg_constraint k join pg_class c on c.oid = k.conrelid
      where k.contype = 'f' and k.conparentid = 0
        and k.confrelid = to_regclass('tenants') and c.relname <> all ($1)
      order by 1, 2`,
    [[...SHARDED_TABLES]],
  );
}

// Citus knows nothing of a role that is older than its extension, until a table of that role is
// distributed. The node must not pass on what the coordinator sends to each.
const LET_ADMIN_LOG_IN = `do $$
begin
  perform set_config('citus.enable_create_role_propagation', 'off', true),
          set_config('citus.enable_alter_role_propagation', 'off', true);
  if to_regrole('${ADMIN_ROLE}') is null then
    create role ${ADMIN_ROLE} bypassrls;
  end if;
  alter role ${ADMIN_ROLE} login;
end $$`;

/** What the nodes need, before any table is touched. */
async function prepareNodes(context: StepContext): Promise<void> {
  const { executor } = context;
  await executor.execute(`alter role ${ADMIN_ROLE} login`);
  await executor.execute(onWorkers(LET_ADMIN_LOG_IN));
  await refuseUnreachableNodes(context);
  await executor.execute(onWorkers(REVOKE_BYPASSES.onNodes));
  await executor.execute(onWorkers(REVOKE_BYPASSES.everywhere));
  await executor.execute(REVOKE_BYPASSES.everywhere);
}

/** A statement that runs another one on each node beside the coordinator, or fails. */
function onWorkers(statement: string): string {
  return `do $do$ declare failed record; begin
  for failed in select nodename, nodeport, result
                  from run_command_on_workers(${escapeLiteral(
                    statement,
                  )}) where not success
  loop
    raise exception '%:%: %', failed.nodename, failed.nodeport, failed.result;
  end loop;
end $do$`;
}

/** @throws {@link RefusedError} where the administrator can't connect from node to node */
async function refuseUnreachableNodes(context: StepContext): Promise<void> {
  const nodes = (await readNodes(context.executor.read)).filter(
    ({ isCoordinator }) => !isCoordinator,
  );
  const failed: string[] = [];
  const { session } = context.executor;
  await session.transaction('begin', async () => {
    await session.query(`set local role ${ADMIN_ROLE}`);
    for (const node of nodes) {
      const [{ reached }] = await session.query<{ reached: boolean }>(
        'select citus_check_connection_to_node($1, $2) as reached',
        [node.host, node.port],
      );
      if (!reached) {
        failed.push(nodeName(node));
      }
    }
  });
  if (failed.length > 0) {
    throw new RefusedError(
      `The coordinator can't connect to ${failed.join(
        ', ',
      )} as ${ADMIN_ROLE}. ` +
        'Allow it in their pg_hba.conf, from the other nodes only, by a certificate or .pgpass.',
    );
  }
}

interface Rebuild {
  title: string;
  /** Make the new tables. */
  before: string[];
  /** Give them all the rest, and the names of those in use. */
  after: string[];
  /** Behind the commit. */
  finally: string[];
}

// A reader is through in less; one that waits for a writer that waits for this is ended.
const UPGRADE_TIMEOUT_MS = 200;
const UPGRADE_ATTEMPTS = 100;

async function rebuild(
  context: StepContext,
  parts: TableParts[],
  plan: Rebuild,
): Promise<Distribution> {
  const { session } = context.executor;
  const schema = escapeIdentifier(context.settings.schema);
  const tables = parts.map(
    ({ table }) => `${schema}.${escapeIdentifier(table)}`,
  );
  // EXCLUSIVE: readers go on, and writers wait until the commit, those too that would lock
  // rows first. The upgrade at the end waits for the readers under way.
  const lock = `lock table ${tables.join(', ')} in exclusive mode`;
  const upgrade = `lock table ${tables.join(', ')} in access exclusive mode`;
  const result: Distribution = { changed: true, rows: {}, blockedMs: 0 };
  // Again where a lock is not granted, or where Citus ends this one of a deadlock with a
  // writer that has locked on a node what it needs there.
  await withLockRetries(
    context,
    { title: plan.title, tables, mode: 'exclusive' },
    async timeoutMs => {
      try {
        await runAll(session, [
          'begin',
          ...SETTINGS,
          `set local lock_timeout = ${timeoutMs}`,
          lock,
          'set local lock_timeout = 0',
        ]);
        const since = performance.now();
        await session.query(`create schema ${SIDE}`);
        await runAll(session, plan.before);
        Object.assign(result.rows, await copyAll(context, parts));
        await runAll(
          session,
          parts.flatMap(({ keys, indexes }) => [...keys, ...indexes]),
        );
        await upgradeLock(session, upgrade, tables);
        await runAll(session, plan.after);
        await session.query('commit');
        result.blockedMs = Math.round(performance.now() - since);
      } catch (error) {
        await session.rollback();
        throw error;
      }
    },
  );
  await runAll(session, plan.finally);
  return result;
}

/** @returns the number of rows of each table, once the copies are found equal */
async function copyAll(
  { executor: { session }, reporter, settings }: StepContext,
  parts: TableParts[],
): Promise<Record<string, string>> {
  const rows: Record<string, string> = {};
  for (const each of parts) {
    await session.query(copyRows(settings.schema, each));
    const [of, copy] = [
      (await session.query<Sum>(checksum(settings.schema, each)))[0],
      (await session.query<Sum>(checksum(SIDE, each)))[0],
    ];
    if (of.rows !== copy.rows || of.sum !== copy.sum) {
      throw new VerificationError(
        `The copy of ${each.table} differs: ${copy.rows} rows instead of ${of.rows}, or other ` +
          'values. Nothing was changed: run the command again.',
      );
    }
    rows[each.table] = of.rows;
    reporter.info(
      `${each.table}: ${formatCount(
        Number(of.rows),
      )} rows, equal on both sides`,
    );
  }
  return rows;
}

interface Sum {
  rows: string;
  sum: string;
}

/**
 * Waits for the readers under way. A transaction that has read and now waits to write waits
 * for this one, which waits for it: PostgreSQL would end either, so the other is cancelled.
 */
async function upgradeLock(
  session: MigrationSession,
  upgrade: string,
  tables: string[],
): Promise<void> {
  await session.query('savepoint upgrade');
  for (let attempt = 1; ; attempt += 1) {
    try {
      // Before each attempt: the detector of deadlocks may choose this transaction.
      await session.query(
        `select pg_cancel_backend(l.pid)
           from pg_locks l
          where l.granted and l.relation = any ($1::regclass[]::oid[]) and l.pid <> pg_backend_pid()
            and pg_backend_pid() = any (pg_blocking_pids(l.pid))`,
        [tables],
      );
      await session.query(`set local lock_timeout = ${UPGRADE_TIMEOUT_MS}`);
      await session.query(upgrade);
      await session.query('set local lock_timeout = 0');
      return;
    } catch (error) {
      if (attempt === UPGRADE_ATTEMPTS) {
        throw error instanceof DatabaseError && error.code === '55P03'
          ? new LockNotGrantedError(
              'Readers held the tables for too long at the end of the copy: run the ' +
                'command again when there are fewer long transactions.',
            )
          : error;
      }
      await session.query('rollback to savepoint upgrade');
    }
  }
}

async function runAll(
  session: MigrationSession,
  statements: string[],
): Promise<void> {
  for (const statement of statements) {
    await session.query(statement);
  }
}

/** How a distributed catalog names the way back, where a command refuses to work on it. */
export function refuseDistributed(what: string): RefusedError {
  return new RefusedError(
    `The tables of tenants are distributed over the nodes of Citus, ${what}. ` +
      `"${operatorCommand(
        'undistribute',
      )}" brings them back to the coordinator.`,
  );
}
