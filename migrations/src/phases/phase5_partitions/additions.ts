import type { TableCopy } from '../../copy/TableCopy';
import type { Executor } from '../../engine/Executor';
import type { StepContext } from '../../engine/Step';
import { RefusedError } from '../../errors';
import { defaultTenantPartition } from '../../schema/partitions';
import { escapeIdentifier } from '../../sql';
import { oneTenantCheck, TENANT_TABLES } from '../../schema/tables';
import { script } from '../../text';
import { readForeignKeys } from './60_foreign_keys';
import { carriedIndexes, entityIndexes, replayIndex } from './50_indexes';

// The steps before the swap copied the indexes and constraints of their time. Those added
// since would be missing after the swap.

/** An index or a constraint, with the statements that add it to the other side. */
interface Addition {
  description: string;
  statements: string[];
}

/**
 * Refuses a swap for which the tables in use have indexes or constraints that the
 * copies lack.
 *
 * @throws {@link RefusedError} with the statements after which the copies have them
 */
export async function refuseAdditions(
  { executor }: StepContext,
  copies: TableCopy[],
): Promise<void> {
  const additions: Addition[] = [];
  for (const copy of copies) {
    additions.push(
      ...(await addedIndexes(executor, copy)),
      ...(await addedChecks(executor, copy)),
      ...(await addedForeignKeys(executor, copy, copies[0])),
    );
  }
  if (additions.length > 0) {
    const sql = script(additions.flatMap(({ statements }) => statements));
    throw new RefusedError(
      'These were added to the tables after their copies were made, which lack them: ' +
        `${list(additions)}. Run this, and the command again. The copies are ` +
        `not in use: no session waits for it.\n${sql}`,
    );
  }
}

/**
 * Warns of indexes and check constraints that were added to the partitioned tables since the
 * swap. It does not refuse: a rollback is urgent, and the old tables worked without them.
 */
export async function warnOfAdditions(
  { executor, reporter }: StepContext,
  copies: TableCopy[],
): Promise<void> {
  const additions: Addition[] = [];
  for (const copy of copies) {
    additions.push(
      ...(await indexesSinceSwap(executor, copy)),
      ...(await addedChecks(executor, copy)),
    );
  }
  if (additions.length > 0) {
    reporter.warn(
      'These were added to the tables after the swap, and stay with the archive: ' +
        `${list(additions)}.`,
    );
  }
}

function list(additions: Addition[]): string {
  return additions.map(({ description }) => description).join('; ');
}

interface Index {
  name: string;
  /** What follows the name of the table, or the constraint that it is for. */
  body: string;
  unique: boolean;
}

async function readIndexes(
  executor: Executor,
  table: string,
): Promise<Index[]> {
  return executor.read<Index>(
    `select c.relname as name, i.indisunique as unique,
            coalesce(pg_get_constraintdef(k.oid),
                     substring(pg_get_indexdef(i.indexrelid) from ' (USING .*)')) as body
       from pg_index i
       join pg_class c on c.oid = i.indexrelid
       left join pg_constraint k on k.conindid = i.indexrelid
                                and k.conrelid = i.indrelid and k.contype in ('p', 'u')
      where i.indrelid = to_regclass(quote_ident($1)) and i.indisvalid
      order by c.relname`,
    [table],
  );
}

function isAmong(indexes: Index[]): (index: Omit<Index, 'name'>) => boolean {
  const known = new Set(indexes.map(({ body, unique }) => `${unique} ${body}`));
  return ({ body, unique }) => known.has(`${unique} ${body}`);
}

async function addedIndexes(
  executor: Executor,
  copy: TableCopy,
): Promise<Addition[]> {
  const isThere = isAmong(await readIndexes(executor, copy.target));
  return (await carriedIndexes(executor, copy))
    .filter(index => !isThere(index))
    .map(({ source, statement }) => ({
      description: `the index ${source} of ${copy.source}`,
      statements: [statement],
    }));
}

async function indexesSinceSwap(
  executor: Executor,
  copy: TableCopy,
): Promise<Addition[]> {
  const { source, target, table } = copy;
  const fromBefore = await carriedIndexes(executor, {
    ...copy,
    source: target,
    target: source,
  });
  const isFromBefore = isAmong(
    fromBefore.map(index => ({ ...index, name: index.source })),
  );
  const own = [
    `${table}_partitioned_pkey`,
    replayIndex(table),
    ...entityIndexes(source, '').map(({ name }) => name),
  ];
  return (await readIndexes(executor, source))
    .filter(index => !own.includes(index.name) && !isFromBefore(index))
    .map(({ name }) => ({
      description: `the index ${name} of ${source}`,
      statements: [],
    }));
}

async function addedChecks(
  executor: Executor,
  { table, source, target }: TableCopy,
): Promise<Addition[]> {
  const rows = await executor.read<{ name: string; definition: string }>(
    `select k.conname as name, pg_get_constraintdef(k.oid) as definition
       from pg_constraint k
      where k.conrelid = to_regclass(quote_ident($1)) and k.contype = 'c'
        and k.conname <> $3
        and not exists (
          select from pg_constraint o
           where o.conrelid = to_regclass(quote_ident($2)) and o.contype = 'c'
             and pg_get_expr(o.conbin, o.conrelid) = pg_get_expr(k.conbin, k.conrelid))
      order by k.conname`,
    [source, target, oneTenantCheck(table)],
  );
  return rows.map(({ name, definition }) => ({
    description: `the constraint ${name} of ${source}`,
    statements: [
      `alter table ${target} add constraint ${escapeIdentifier(
        name,
      )} ${definition}`,
    ],
  }));
}

async function addedForeignKeys(
  executor: Executor,
  copy: TableCopy,
  entities: TableCopy,
): Promise<Addition[]> {
  const { source, target } = copy;
  const present = await executor.read<{ name: string }>(
    `select conname as name from pg_constraint
      where conrelid = to_regclass(quote_ident($1)) and contype = 'f'`,
    [target],
  );
  const partition = defaultTenantPartition(copy.table);
  return (await readForeignKeys(executor, copy, entities))
    .filter(key => present.every(({ name }) => name !== key.name))
    .map(({ name, definition }) => {
      const constraint = `constraint ${escapeIdentifier(name)}`;
      return {
        description: `the foreign key ${name} of ${source}`,
        // In two parts, as in step 60: writers of the other table wait for no scan.
        statements: [
          `alter table ${partition} add ${constraint} ${definition} not valid`,
          `alter table ${partition} validate ${constraint}`,
          `alter table ${target} add ${constraint} ${definition}`,
        ],
      };
    });
}

const FINGERPRINT = `
  select hashtextextended(coalesce(string_agg(definition, '' order by definition), ''), 0)
    from (select pg_get_indexdef(indexrelid) as definition from pg_index
           where indrelid in (TABLES)
           union all
          select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
            from pg_constraint
           where conrelid in (TABLES) and contype in ('c', 'f', 'u', 'p')) d`.replace(
  /TABLES/g,
  TENANT_TABLES.map(table => `'${table}'::regclass`).join(', '),
);

/**
 * The statement that fails unless the tables in use still have the indexes and constraints
 * that they have now. For a moment at which no session can add any.
 */
export async function refuseLaterAdditions(
  executor: Executor,
): Promise<string> {
  const [{ fingerprint }] = await executor.read<{ fingerprint: string }>(
    `select (${FINGERPRINT})::text as fingerprint`,
  );
  return `do $$ begin
  if (${FINGERPRINT}) <> ${fingerprint} then
    raise exception 'An index or a constraint of the tables was added or changed a moment ago'
      using errcode = 'integrity_constraint_violation',
            hint = 'Run the command again: it names what the other side lacks.';
  end if;
end $$`;
}
