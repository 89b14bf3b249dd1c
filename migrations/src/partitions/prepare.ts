import { BulkCopy } from '../copy/BulkCopy';
import { catchUp, catchUpScript } from '../copy/replay';
import { createLogTriggers } from '../copy/changeLog';
import { describeCopy } from '../copy/TableCopy';
import type { TableCopy } from '../copy/TableCopy';
import type { Executor } from '../engine/Executor';
import { describeFound, explainTaken, findForeign } from '../engine/ownership';
import type { Creation, StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { secludeStatements } from '../schema/grants';
import {
  catchAllPartition,
  identifyByAllColumns,
  identifyLike,
  statisticsStatements,
  storageParameters,
} from '../schema/partitions';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { ENTITY_KEY, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import type { MigrationSession } from '../session/MigrationSession';
import {
  indexName,
  lastCatchAll,
  nextCatchAll,
  PARTITION_LOG,
  ROWS_CHECK,
  tenantPartition,
  UNSEEN_POLICY,
} from './names';
import { createLog } from './sync';
import type { UniqueColumns } from './sync';
import { creationsOf, rememberPreparation } from './unfinishedMoves';
import type {
  BegunPreparation,
  Direction,
  Preparation,
} from './unfinishedMoves';
import type { Partitions, Tenant } from './Tenant';

/** A condition that no row fulfils, and that an index scan answers. */
export const NO_TENANT = `tenant_id = '00000000-0000-0000-0000-000000000000'`;

/**
 * A move of a tenant's rows out of the catch-all partitions, or back into them.
 *
 * A partition can't lose rows, or gain rows that its bounds exclude, while it is in
 * use: so the catch-all partition is copied as a whole, without the tenant's rows or
 * with them, and the copy takes its place.
 */
export interface Move {
  direction: Direction;
  tenant: Tenant;
  /** The partitions that the tenant gets, or has. */
  partitions: Partitions;
  /** The tenant's rows of the three tables, then those of all others. */
  copies: TableCopy[];
}

/** Describes what is copied where. */
export async function describeMove(
  executor: Executor,
  direction: Direction,
  tenant: Tenant,
  found?: Partitions,
): Promise<Move> {
  const partitions =
    found ??
    (Object.fromEntries(
      TENANT_TABLES.map(table => [table, tenantPartition(table, tenant.slug)]),
    ) as Partitions);
  const copies: TableCopy[] = [];
  for (const others of [false, true]) {
    for (const table of TENANT_TABLES) {
      const shared = {
        source: catchAllPartition(table),
        target: nextCatchAll(table),
      };
      const own =
        direction === 'give'
          ? { ...shared, target: partitions[table] }
          : { ...shared, source: partitions[table] };
      const sides = others ? shared : own;
      copies.push(
        await describeCopy(executor, table, {
          ...sides,
          tenantId: tenant.id,
          others,
        }),
      );
    }
  }
  return { direction, tenant, partitions, copies };
}

/** The tables that a move fills, in the order in which they are attached. */
export function targetsOf({ copies }: Pick<Move, 'copies'>): TableCopy[] {
  return copies.filter(
    ({ target }, index) =>
      copies.findIndex(copy => copy.target === target) === index,
  );
}

/** The partitions that a move copies, and drops at its end. */
export function sourcesOf({ copies }: Pick<Move, 'copies'>): TableCopy[] {
  return copies.filter(
    ({ source }, index) =>
      copies.findIndex(copy => copy.source === source) === index,
  );
}

/**
 * Makes the copies: tables with the rows, indexes, constraints and statistics of the
 * partitions, kept up to date by a change log. No reader or writer waits. Continues a
 * preparation that was stopped.
 */
export async function prepareCopies(
  context: StepContext,
  move: Move,
  preparation: Preparation,
): Promise<void> {
  const { executor } = context;
  await createTables(context, move, preparation);
  await logChanges(context, move, preparation);
  for (const copy of move.copies) {
    const bulk = new BulkCopy(context, copy, copy.target, true);
    await executor.work({
      title: `Copy rows of ${copy.source} to ${copy.target}`,
      script: executor.dryRun ? await bulk.script() : [],
      run: session => bulk.run(session),
    });
  }
  await buildIndexes(context, move);
}

/** Replays the change log until it is short. */
export async function replay(context: StepContext): Promise<void> {
  await context.executor.work({
    title: 'Replay the change log',
    script: catchUpScript(PARTITION_LOG),
    run: (session: MigrationSession) =>
      catchUp(context, session, PARTITION_LOG),
  });
}

async function createTables(
  context: StepContext,
  move: Move,
  preparation: Preparation,
): Promise<void> {
  const { executor, settings } = context;
  const targets = targetsOf(move);
  const statements: string[] = [];
  for (const { table, target } of targets) {
    // The partition that it will stand beside or replace.
    const model = catchAllPartition(table);
    statements.push(
      await createTable(executor, move, table, target),
      identifyByAllColumns(target),
      ...secludeStatements(target),
      `drop policy if exists ${UNSEEN_POLICY} on ${escapeIdentifier(target)}`,
      `create policy ${UNSEEN_POLICY} on ${escapeIdentifier(target)}
  using (${NO_TENANT})`,
      ...(await statisticsStatements(executor, model, [target])),
      // The key keeps a row that moves during the copy from being copied twice, and the
      // replay looks up the rows of an entity by it.
      ...(await readIndexes(executor, table, target))
        .filter(({ ofEntity }) => ofEntity)
        .map(index => index.statement),
    );
  }
  await executor.transaction({
    title: `Create the tables of the move of "${move.tenant.slug}"`,
    locks: 'ACCESS SHARE on the three tables. The others are new.',
    statements: [
      ...statements,
      ...createLog(move.copies, settings.schema),
      ...rememberPreparation(context.state, preparation),
    ],
  });
}

async function createTable(
  executor: Executor,
  { direction, tenant, partitions }: Move,
  table: TenantTable,
  target: string,
): Promise<string> {
  const model = catchAllPartition(table);
  const storage = await storageParameters(executor, model);
  const isShared = target === nextCatchAll(table);
  const rows = isShared
    ? await boundsOfCatchAll(executor, table, {
        without: direction === 'give' ? tenant.id : undefined,
        dropped: direction === 'give' ? undefined : partitions[table],
      })
    : `tenant_id = ${escapeLiteral(tenant.id)}`;
  // A partition has the identity of its table.
  return `create table if not exists ${escapeIdentifier(target)} (
  like ${
    isShared ? model : table
  } including all excluding indexes excluding identity,
  constraint ${ROWS_CHECK} check (${rows})
)${storage}`;
}

/**
 * The rows that the catch-all partition may have after the move, spelled as PostgreSQL
 * spells its partition constraint: ATTACH PARTITION then skips its scan of the rows.
 */
async function boundsOfCatchAll(
  executor: Executor,
  table: TenantTable,
  change: { without?: string; dropped?: string },
): Promise<string> {
  const partitions = await executor.read<{ name: string; bound: string }>(
    `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = to_regclass($1)`,
    [table],
  );
  const tenants = partitions
    .filter(({ name }) => name !== change.dropped)
    .flatMap(({ bound }) =>
      [...bound.matchAll(/'([^']+)'/g)].map(([, id]) => id),
    )
    .concat(change.without ?? [])
    .sort()
    .map(id => `${escapeLiteral(id)}::uuid`);
  const within =
    tenants.length === 1
      ? `tenant_id = ${tenants[0]}`
      : `tenant_id = any (array[${tenants.join(', ')}])`;
  return `not ((tenant_id is not null) and (${within}))`;
}

/**
 * @param begun - the preparation of an earlier command that this one continues
 * @throws {@link RefusedError} if other objects have names that a move needs
 */
export async function refuseTakenNames(
  executor: Executor,
  move: Move,
  begun: BegunPreparation | undefined,
): Promise<void> {
  const last = lastCatchAll('entities');
  const targets = targetsOf(move);
  const relations = [last];
  for (const { table, target } of targets) {
    const indexes = await readIndexes(executor, table, target);
    relations.push(...indexes.map(({ name }) => name));
    if (target === nextCatchAll('entities')) {
      relations.push(
        ...indexes.map(({ model }) => indexName(table, last, model)),
      );
    }
  }
  const foreign = await findForeign(executor, begun, [
    ...creationsOf({
      tables: targets.map(({ target }) => target),
      sources: sourcesOf(move).map(({ source }) => source),
    }),
    ...relations.map((name): Creation => ({ kind: 'relation', name })),
  ]);
  // Indexes of tables that the earlier command created are its own.
  const own = await executor.read<{ identity: string }>(
    `select 'relation ' || indexrelid as identity from pg_index
      where 'relation ' || indrelid = any ($1)`,
    [begun?.known ?? []],
  );
  const taken = foreign.filter(
    ({ identity }) => !own.some(index => index.identity === identity),
  );
  if (taken.length > 0) {
    throw new RefusedError(explainTaken(taken.map(describeFound)));
  }
}

async function logChanges(
  context: StepContext,
  move: Move,
  preparation: Preparation,
): Promise<void> {
  for (const { table, source } of sourcesOf(move)) {
    await context.executor.transaction({
      title: `Log the changes of ${source}`,
      locks:
        `SHARE ROW EXCLUSIVE on ${source}, for a change of the catalog. It waits for ` +
        'the transactions that have written, so that the log misses no change.',
      tables: [escapeIdentifier(source)],
      statements: [
        ...createLogTriggers(table, escapeIdentifier(source), PARTITION_LOG),
        ...rememberPreparation(context.state, preparation),
      ],
    });
  }
}

async function buildIndexes(context: StepContext, move: Move): Promise<void> {
  const { executor, reporter } = context;
  const targets = targetsOf(move);
  const all: NewIndex[] = [];
  for (const { table, target } of targets) {
    all.push(...(await readIndexes(executor, table, target)));
  }
  reporter.info(`Build ${all.length} indexes`);
  // SHARE on tables that only this command writes to.
  for (const { statement } of all.filter(({ unique }) => !unique)) {
    await executor.execute(statement);
  }
  await replay(context);
  // Before the replay a copy may hold rows of different moments, which may conflict.
  for (const { statement } of all.filter(({ unique }) => unique)) {
    await executor.execute(statement);
  }
  for (const { table, target } of targets) {
    await executor.execute(identifyLike(catchAllPartition(table), target));
    await executor.execute(
      `vacuum (analyze, truncate false) ${escapeIdentifier(target)}`,
    );
  }
  await replay(context);
}

/** An index that a copy gets. */
export interface NewIndex {
  /** The one of the catch-all partition. */
  model: string;
  name: string;
  unique: boolean;
  /** Whether it finds the rows of an entity. */
  ofEntity: boolean;
  /** Creates it unless it exists. */
  statement: string;
}

interface ModelIndex {
  name: string;
  definition: string;
  constraint: string | null;
  comment: string | null;
  unique: boolean;
  ofEntity: boolean;
}

/**
 * The indexes of the catch-all partition, for a copy: ATTACH PARTITION takes those that
 * it finds, and builds none.
 */
export async function readIndexes(
  executor: Executor,
  table: TenantTable,
  target: string,
): Promise<NewIndex[]> {
  const rows = await executor.read<ModelIndex>(
    `select c.relname as name, pg_get_indexdef(i.indexrelid) as definition,
            pg_get_constraintdef(k.oid) as constraint,
            coalesce(obj_description(k.oid, 'pg_constraint'),
                     obj_description(i.indexrelid, 'pg_class')) as comment,
            i.indisunique as unique,
            i.indpred is null and i.indimmediate and i.indnkeyatts = 2
              and array(select attname::text
                          from unnest(i.indkey::int2[]) with ordinality k (number, n)
                          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
                         order by n limit 2) = array['tenant_id', $2] as "ofEntity"
       from pg_index i
       join pg_class c on c.oid = i.indexrelid
       left join pg_constraint k on k.conindid = i.indexrelid
                                and k.conrelid = i.indrelid and k.contype in ('p', 'u')
      where i.indrelid = to_regclass($1) and i.indisvalid
      order by i.indisprimary desc, c.relname`,
    [catchAllPartition(table), ENTITY_KEY[table]],
  );
  return rows.map(
    ({ name: model, definition, constraint, comment, ...row }) => {
      const name = indexName(table, target, model);
      const kind = constraint
        ? `constraint ${escapeIdentifier(name)} on ${escapeIdentifier(target)}`
        : `index ${escapeIdentifier(name)}`;
      return {
        ...row,
        model,
        name,
        statement: unlessThere(name, [
          constraint
            ? `alter table ${escapeIdentifier(target)}
      add constraint ${escapeIdentifier(name)} ${constraint}`
            : `create ${row.unique ? 'unique ' : ''}index ${escapeIdentifier(
                name,
              )} ` +
              `on ${escapeIdentifier(target)} ${definition.slice(
                definition.indexOf(' USING ') + 1,
              )}`,
          // Those of a tenant's partition are as phase 5 makes them.
          ...(comment === null || target !== nextCatchAll(table)
            ? []
            : [`comment on ${kind} is ${escapeLiteral(comment)}`]),
        ]),
      };
    },
  );
}

function unlessThere(name: string, statements: string[]): string {
  return `do $index$ begin
  if to_regclass(quote_ident(${escapeLiteral(name)})) is null then
${statements.map(statement => `    ${statement};`).join('\n')}
  end if;
end $index$`;
}

/** Columns whose values a unique index of the catch-all partition depends on. */
export async function readUniqueColumns(
  executor: Executor,
): Promise<UniqueColumns> {
  const unique: UniqueColumns = {} as UniqueColumns;
  for (const table of TENANT_TABLES) {
    const [found] = await executor.read<UniqueColumns[TenantTable]>(
      `with relevant as (
         select indexrelid, indrelid, indkey::int2[] as keys, indimmediate from pg_index
          where indrelid = to_regclass($1) and (indisunique or indisexclusion)
       )
       select not coalesce(bool_and(indimmediate), true) as deferrable,
              array(select attname::text from pg_attribute a
                     where a.attrelid = to_regclass($1) and a.attnum > 0
                       and exists (
                         select from relevant r
                          where a.attnum = any (r.keys)
                             or exists (select from pg_depend d
                                         where d.classid = 'pg_class'::regclass
                                           and d.objid = r.indexrelid
                                           and d.refobjid = r.indrelid
                                           and d.refobjsubid = a.attnum))
                     order by attnum) as columns
         from relevant`,
      [catchAllPartition(table)],
    );
    unique[table] = found;
  }
  return unique;
}

/** What a move has prepared before it has done anything. */
export async function newPreparation(
  { state }: Pick<StepContext, 'state'>,
  move: Move,
): Promise<Preparation> {
  const swap = await state.get<{ xid: string }>('swap');
  return {
    id: move.tenant.id,
    slug: move.tenant.slug,
    direction: move.direction,
    tables: targetsOf(move).map(({ target }) => target),
    sources: sourcesOf(move).map(({ source }) => source),
    swap: swap?.xid ?? null,
  };
}
