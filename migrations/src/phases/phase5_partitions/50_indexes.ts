import type { Executor } from '../../engine/Executor';
import type { Step, StepContext } from '../../engine/Step';
import { REPLAY_FUNCTION, replayChanges } from '../../copy/replay';
import { describeCopies } from '../../copy/TableCopy';
import type { TableCopy } from '../../copy/TableCopy';
import { LAYOUT, withoutTenant } from '../../layout';
import type { LayoutIndex } from '../../layout';
import { extensionSchema, relationExists } from '../../schema/lookups';
import {
  catchAllPartition,
  defaultTenantPartition,
  identifyByAllColumns,
} from '../../schema/partitions';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

/** The index that the replay of the change log needs. */
export function replayIndex(table: TenantTable): string {
  return `${table}_partitioned_entity_idx`;
}

/** Every other index of the partitioned tables. */
export const indexes: Step = {
  name: '5_50_indexes',
  title: 'Build the indexes of the partitioned tables',
  live: true,

  creates: [
    REPLAY_FUNCTION,
    ...TENANT_TABLES.flatMap(table =>
      LAYOUT[table].indexes
        .map(({ name }) => name)
        .filter(name => name !== replayIndex(table)),
    ),
  ],

  async up(context) {
    const { executor, reporter } = context;
    const copies = await describeCopies(executor);
    // Unique indexes need the rows of one moment, not of several.
    await replayChanges(context, copies);
    for (const copy of copies) {
      const { table, target } = copy;
      const wanted = await wantedIndexes(context, copy);
      for (const index of wanted) {
        reporter.info(`Index ${index.name}`);
        await build(context, copy, index);
      }
      if (wanted.some(({ constraint }) => constraint)) {
        // The primary key finds what it found.
        await executor.execute(`drop index if exists ${replayIndex(table)}`);
      } else {
        for (const each of [
          target,
          defaultTenantPartition(table),
          catchAllPartition(table),
        ]) {
          await executor.execute(identifyByAllColumns(each));
        }
      }
    }
    await executor.execute('vacuum (analyze) entity_terms');
    for (const table of TENANT_TABLES) {
      // So that the first query after the swap has statistics.
      await executor.execute(
        `vacuum (analyze) ${defaultTenantPartition(table)}`,
      );
    }
  },
  // No `down`: they are dropped with their tables.
};

/** The indexes of the layout, and of the optional ones those that the source has. */
async function wantedIndexes(
  { executor }: StepContext,
  { table, source }: TableCopy,
): Promise<LayoutIndex[]> {
  const rows = await executor.read<{ definition: string }>(
    `select pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid = to_regclass(quote_ident($1)) and indisvalid`,
    [source],
  );
  const isThere = ({ on, constraint }: LayoutIndex) =>
    rows.some(
      ({ definition }) =>
        definition.endsWith(` USING ${withoutTenant(on)}`) &&
        definition.startsWith('CREATE UNIQUE') === (constraint !== undefined),
    );
  return LAYOUT[table].indexes.filter(
    index =>
      index.name !== replayIndex(table) && (!index.optional || isThere(index)),
  );
}

/** SHARE on a table that only this command writes to. */
async function build(
  { executor }: StepContext,
  { target }: TableCopy,
  index: LayoutIndex,
): Promise<void> {
  const { name, on, constraint } = index;
  if (!constraint) {
    await executor.execute(await indexStatement(executor, target, index));
  } else if (!(await relationExists(executor, name))) {
    await executor.execute(
      `alter table ${target} add constraint ${name} ${constraint} ${on.replace(
        'btree ',
        '',
      )}`,
    );
  }
}

/**
 * A GIN index collects new entries in a list, which some writer has to merge: seconds for the 4 MB
 * that PostgreSQL lets it grow to. With 64 kB that is after some twenty entities, and each costs
 * 0.4 times what it does without a list.
 */
const GIN_STORAGE = 'fastupdate = on, gin_pending_list_limit = 64';

/** The statement that creates an index which no constraint implies. */
export async function indexStatement(
  executor: Executor,
  table: string,
  { name, on }: LayoutIndex,
): Promise<string> {
  const [columns, live = ''] = on.split(' WHERE');
  const storage = on.startsWith('gin') ? ` with (${GIN_STORAGE})` : '';
  const trigrams = columns.includes('gin_trgm_ops')
    ? columns.replace(
        'gin_trgm_ops',
        `${await extensionSchema(executor, 'pg_trgm')}.gin_trgm_ops`,
      )
    : columns;
  return (
    `create index if not exists ${name} on ${table} using ${trigrams}${storage}` +
    `${live && ` where${live}`}`
  );
}
