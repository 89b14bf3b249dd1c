import type { Executor } from '../engine/Executor';
import type { MigrationState } from '../engine/MigrationState';
import { STATE_TABLE } from '../engine/MigrationState';
import { recordStatement } from '../engine/ownership';
import { catchAllPartition } from '../schema/partitions';
import { ADMIN_ROLE } from '../roles';
import { ADMIN_POLICY, adminPolicyStatement } from '../schema/policies';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { limitWaits, lockTogether } from '../session/lockRetries';
import { putExchanged, SYNCHRONIZED } from './unfinishedMoves';
import type { Preparation, Replaced } from './unfinishedMoves';
import {
  indexName,
  lastCatchAll,
  nextCatchAll,
  PARTITION_LOG,
  ROWS_CHECK,
  UNSEEN_POLICY,
} from './names';
import { NO_TENANT, readIndexes, sourcesOf, targetsOf } from './prepare';
import type { Move } from './prepare';

/** Errors after which the exchange is not just repeated. */
export const EXCHANGE_ERRORS = {
  /** It took longer than `--max-block`. */
  tooLong: 'TP001',
  /** The tenant was deleted. */
  tenantDeleted: 'TP002',
  /** The log has entries: copies differ from their sources there. */
  differs: 'TP003',
  /** The tables have changed since the copies were made. */
  changed: 'TP004',
  /** Some session has a snapshot that does not show all rows of the copies. */
  older: 'TP005',
} as const;

/** A session setting: for how many milliseconds the last exchange locked the tables. */
export const LOCKED_MS = 'tenancy.locked_ms';

/** A transaction setting: when the locks were granted. */
const BEGUN = 'tenancy.locked_since';

interface Part {
  /** For the error, if the time runs out here. */
  title: string;
  statements: string[];
}

/** A transaction in two messages. */
export interface Exchange {
  /** Takes locks that conflict with no reader or writer. */
  quiet: string[];
  /** Locks the tables, and ends the transaction. */
  blocking: string[];
}

/**
 * A condition on a row `a` of pg_stat_activity: the session's snapshot may be older than
 * the switch to the mirroring triggers. Replication connections and background workers
 * count, because they run queries; autovacuum, which has no user, does not.
 */
export const MAY_BE_OLDER = `a.datname = current_database() and a.pid <> pg_backend_pid()
     and a.usesysid is not null
     and age(a.backend_xmin) >= age((
       select mod((value ->> 'xid')::numeric, 4294967296)::text::xid
         from ${STATE_TABLE} where key = '${SYNCHRONIZED}'))`;

// pg_export_snapshot hands a snapshot on while its session holds it: once no session has
// an old one, none can get one. The first condition leaves out the case in which an even
// older transaction of the server holds the horizon back, so that current snapshots look old.
const REFUSE_OLDER_SNAPSHOTS = `do $$ begin
  if pg_snapshot_xmin(pg_current_snapshot()) > (
       select (value ->> 'xid')::xid8 from ${STATE_TABLE} where key = '${SYNCHRONIZED}')
     and exists (select from pg_stat_activity a where ${MAY_BE_OLDER}) then
    raise exception 'A snapshot is too old' using errcode = '${EXCHANGE_ERRORS.older}';
  end if;
end $$`;

/**
 * Changes the role of the transaction to an owner of the tables from whom policies hide
 * all rows.
 *
 * ATTACH and DETACH PARTITION validate foreign keys by queries that run as the current
 * role and would read all rows under ACCESS EXCLUSIVE. As this role they find none. The
 * validation adds nothing: the copies were compared with their sources, in which the
 * foreign keys hold, and each change since then was made on both sides.
 *
 * Under FORCE ROW LEVEL SECURITY the policies bind an owner, unless the role bypasses them.
 * A superuser does, so a role acts for it that exists until the end of the transaction;
 * ${ADMIN_ROLE} does, so the login that inherits it acts instead. A login that does not
 * inherit it cannot avoid the validation. Without BYPASSRLS, ${ADMIN_ROLE} is bound by the
 * restrictive policies, and has none on the copies meanwhile that shows their rows.
 */
const seeNoRow = (targets: string[]) => [
  ...targets.map(name => `drop policy if exists ${ADMIN_POLICY} on ${name}`),
  ...['relations', 'refresh_state'].map(
    table =>
      `create policy ${UNSEEN_POLICY} on ${table} as restrictive using (${NO_TENANT})`,
  ),
  `select rolsuper, rolbypassrls, pg_has_role(oid, '${ADMIN_ROLE}', 'usage') as inherits
  into item from pg_roles where rolname = session_user`,
  `if item.rolsuper then
  execute format('create role %I in role ${ADMIN_ROLE}', onlooker);
  perform set_config('role', onlooker, true);
elsif item.inherits and not item.rolbypassrls then
  perform set_config('role', 'none', true);
end if`,
  `perform set_config('row_security', 'on', true)`,
  `perform set_config('app.tenant_id', '00000000-0000-0000-0000-000000000000', true)`,
];

const seeAllRows = (targets: string[]) => [
  `perform set_config('role', acting, true)`,
  `perform set_config('row_security', security, true)`,
  `perform set_config('app.tenant_id', '', true)`,
  `if item.rolsuper then
  execute format('drop role %I', onlooker);
end if`,
  ...['relations', 'refresh_state'].map(
    table => `drop policy ${UNSEEN_POLICY} on ${table}`,
  ),
  ...targets.map(
    name => `execute ${escapeLiteral(adminPolicyStatement(name))}`,
  ),
];

/**
 * The transaction that puts the copies in the place of the partitions. Every remaining
 * snapshot shows the same rows on both sides, so a transaction that waited for the locks
 * continues with the rows that it expects.
 *
 * It takes ACCESS EXCLUSIVE on the tables and on the partitions that change places, and
 * SHARE ROW EXCLUSIVE on the tables that they reference, for changes of the catalog alone:
 * the number of rows makes no difference. SHARE UPDATE EXCLUSIVE comes first and keeps
 * autovacuum off, for which the later locks would wait.
 */
export async function describeExchange(
  executor: Executor,
  state: MigrationState,
  move: Move,
  preparation: Preparation,
  limits: { timeoutMs: number; maxBlockMs: number },
): Promise<Exchange> {
  const { timeoutMs, maxBlockMs } = limits;
  const targets = targetsOf(move).map(({ target }) => escapeIdentifier(target));
  const sources = sourcesOf(move).map(({ source }) => escapeIdentifier(source));
  const referenced = await readReferenced(executor);
  return {
    quiet: [
      'begin',
      'set local synchronous_commit = off',
      // Autovacuum is cancelled without a writer waiting (see Executor.ts).
      'set local lock_timeout = 5000',
      `lock table ${[...TENANT_TABLES, ...targets].join(
        ', ',
      )} in share update exclusive mode`,
      await refuseOtherIndexes(executor, move),
      REFUSE_OLDER_SNAPSHOTS,
      // A rename keeps the object id, so the record can be written before the locks.
      recordStatement(
        TENANT_TABLES.map(table => ({
          kind: 'relation',
          name: nextCatchAll(table),
        })),
      ),
      ...putExchanged(state, preparation, replacedEntities(move)),
    ],
    blocking: [
      // Checks of foreign keys take ROW SHARE, which does not conflict with this.
      lockTogether(referenced, timeoutMs, 'share row exclusive'),
      lockTogether(
        [...TENANT_TABLES, ...sources, ...targets].map(name => `only ${name}`),
        timeoutMs,
      ),
      // For the locks below: sessions use those relations through the tables only.
      limitWaits(timeoutMs),
      // The validation of foreign keys finds no row (see seeNoRow). By an index it also
      // reads none.
      'set local enable_seqscan = off',
      `select set_config('${BEGUN}', clock_timestamp()::text, true)`,
      `set local statement_timeout = ${maxBlockMs}`,
      exchange(
        [
          ...partsOf(move),
          {
            title: 'take over the names',
            statements: await renameStatements(executor),
          },
        ],
        maxBlockMs,
      ),
      'set local statement_timeout = 0',
      'commit',
    ],
  };
}

/** The tables that the three reference besides each other. */
async function readReferenced(executor: Executor): Promise<string[]> {
  const rows = await executor.read<{ name: string }>(
    `select distinct confrelid::regclass::text as name from pg_constraint
      where contype = 'f' and conparentid = 0
        and conrelid in (select to_regclass(name) from unnest($1::text[]) name)
        and confrelid not in (select to_regclass(name) from unnest($1::text[]) name)
      order by 1`,
    [[...TENANT_TABLES]],
  );
  return rows.map(({ name }) => name);
}

/** Fails unless the copies have the indexes of their partitions: ATTACH would build them. */
async function refuseOtherIndexes(
  executor: Executor,
  move: Move,
): Promise<string> {
  const counts: string[] = [];
  for (const { table, target } of targetsOf(move)) {
    const { length } = await readIndexes(executor, table, target);
    counts.push(
      `(${escapeLiteral(catchAllPartition(table))}, ${length})`,
      `(${escapeLiteral(escapeIdentifier(target))}, ${length})`,
    );
  }
  return `do $$
declare
  difference text;
begin
  select string_agg(format('%s has %s indexes', name, there), ', ') into difference
    from (values ${counts.join(', ')}) expected (name, indexes),
         lateral (select count(*) as there from pg_index
                   where indrelid = name::regclass and indisvalid) i
   where there <> indexes;
  if difference is not null then
    raise exception '%', difference using errcode = '${
      EXCHANGE_ERRORS.changed
    }';
  end if;
end $$`;
}

function exchange(parts: Part[], maxBlockMs: number): string {
  return `do $exchange$
declare
  part text;
  begun timestamptz := current_setting('${BEGUN}');
  acting text := current_setting('role');
  security text := current_setting('row_security');
  onlooker text := format('tenancy_partition_%s', pg_backend_pid());
  item record;
begin
${parts
  .map(({ title, statements }) =>
    [`part := ${escapeLiteral(title)}`, ...statements]
      .map(statement => `${statement};`.replace(/^/gm, '  '))
      .join('\n'),
  )
  .join('\n')}
  perform set_config('${LOCKED_MS}',
    ceil(extract(epoch from clock_timestamp() - begun) * 1000)::text, false);
exception when query_canceled then
  -- PostgreSQL has one code for this and for pg_cancel_backend.
  if clock_timestamp() < begun + interval '${
    0.9 * maxBlockMs
  } milliseconds' then
    raise;
  end if;
  raise exception '%', part using errcode = '${EXCHANGE_ERRORS.tooLong}';
end $exchange$`;
}

function partsOf(move: Move): Part[] {
  const { direction, tenant, partitions } = move;
  const sources = (tables: readonly TenantTable[]) =>
    sourcesOf(move)
      .filter(({ table }) => tables.includes(table))
      .map(({ source }) => escapeIdentifier(source));
  const attach = (table: TenantTable) => [
    // The tenant's first: with a catch-all partition present, ATTACH PARTITION would scan
    // that for rows of the tenant.
    ...(direction === 'give'
      ? [
          `alter table ${table} attach partition ${escapeIdentifier(
            partitions[table],
          )} for values in (${escapeLiteral(tenant.id)})`,
        ]
      : []),
    `alter table ${table} attach partition ${nextCatchAll(table)} default`,
  ];
  const targets = targetsOf(move).map(({ target }) => target);
  return [
    {
      title: 'check the log and the tenant',
      statements: [
        `if exists (select from ${PARTITION_LOG.table}) then
  raise exception 'Copies differ' using errcode = '${EXCHANGE_ERRORS.differs}';
end if`,
        // The lock on tenants prevents a concurrent deletion.
        ...(direction === 'give'
          ? [
              `if not exists (select from tenants where tenant_id = ${escapeLiteral(
                tenant.id,
              )} and deleted_at is null) then
  raise exception 'The tenant is deleted' using errcode = '${
    EXCHANGE_ERRORS.tenantDeleted
  }';
end if`,
            ]
          : []),
      ],
    },
    {
      title: 'change to a role that sees no row',
      statements: seeNoRow(targets),
    },
    {
      title: 'take the partitions out of the tables',
      statements: [
        // Before entities, which their foreign keys reference.
        `drop table ${sources(['relations', 'refresh_state']).join(', ')}`,
        ...sources(['entities']).map(
          name => `alter table entities detach partition ${name}`,
        ),
      ],
    },
    {
      title: 'put the copies in their place',
      // Entities first, which the others reference.
      statements: TENANT_TABLES.flatMap(attach),
    },
    {
      title: 'change back to the role before',
      statements: seeAllRows(targets),
    },
    {
      title: 'drop what only the copies had',
      statements: [
        ...targetsOf(move).flatMap(({ target }) => [
          `drop policy ${UNSEEN_POLICY} on ${escapeIdentifier(target)}`,
          `alter table ${escapeIdentifier(
            target,
          )} drop constraint ${ROWS_CHECK}`,
        ]),
      ],
    },
  ];
}

/**
 * The replaced partitions of entities. They are dropped after the exchange: DROP TABLE
 * takes ACCESS EXCLUSIVE on the tables that they reference.
 */
function replacedEntities({ direction, partitions }: Move): Replaced[] {
  const own = partitions.entities;
  return [
    { before: catchAllPartition('entities'), after: lastCatchAll('entities') },
    ...(direction === 'takeBack' ? [{ before: own, after: own }] : []),
  ];
}

async function renameStatements(executor: Executor): Promise<string[]> {
  const statements: string[] = [];
  const rename = (kind: 'index' | 'table', from: string, to: string) =>
    statements.push(
      `alter ${kind} ${escapeIdentifier(from)} rename to ${escapeIdentifier(
        to,
      )}`,
    );
  for (const table of TENANT_TABLES) {
    const [shared, next] = [catchAllPartition(table), nextCatchAll(table)];
    const indexes = await readIndexes(executor, table, next);
    if (table === 'entities') {
      const last = lastCatchAll(table);
      rename('table', shared, last);
      indexes.forEach(({ model }) =>
        rename('index', model, indexName(table, last, model)),
      );
    }
    indexes.forEach(({ model, name }) => rename('index', name, model));
    rename('table', next, shared);
  }
  return statements;
}
