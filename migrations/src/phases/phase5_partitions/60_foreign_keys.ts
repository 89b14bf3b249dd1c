import {
  CATCH_UP_SCRIPT,
  catchUp,
  provideReplay,
  replayFunction,
} from '../../copy/replay';
import type { Step, StepContext } from '../../engine/Step';
import { addConstraint } from '../../schema/changes';
import { constraintValidity } from '../../schema/lookups';
import {
  archiveName,
  defaultTenantPartition,
  partitionedName,
} from '../../schema/partitions';
import { escapeIdentifier, escapeLiteral } from '../../sql';
import { describeCopies } from '../../copy/TableCopy';
import type { TableCopy } from '../../copy/TableCopy';
import type { Executor } from '../../engine/Executor';
import type { TenantTable } from '../../schema/tables';

const REFERENCING = ['relations', 'refresh_state'] as const;

/**
 * Adds the foreign keys of the copies: on the composite key of entities, and those that users have added to the tables.
 *
 * A partitioned table accepts no NOT VALID foreign key, and to add a validated one locks
 * the referenced table during a scan. So the partition with the rows gets it first, NOT
 * VALID and then validated, and the partitioned table adopts it.
 */
export const foreignKeys: Step = {
  name: '5_60_foreign_keys',
  title: 'Build the foreign keys of the partitioned tables',

  creates: () => [replayFunction],

  async up(context) {
    const { executor } = context;
    const copies = await describeCopies(executor);
    // A killed undo leaves the replay function of the way back.
    await provideReplay(executor, copies);
    // The foreign keys hold after a replay, and after each later one.
    await executor.work({
      title: 'Replay the change log',
      script: CATCH_UP_SCRIPT,
      run: session => catchUp(context, session),
    });
    for (const copy of copies) {
      for (const key of await readForeignKeys(executor, copy, copies[0])) {
        await addForeignKey(context, key);
      }
    }
  },

  /**
   * The others are dropped with their tables. These would prevent a repeated copy from
   * truncating the partition of entities.
   */
  async down({ executor }) {
    for (const table of REFERENCING) {
      await executor.transaction({
        title: `Drop the foreign key of the partitioned ${table} to the entities`,
        locks: 'ACCESS EXCLUSIVE on tables that are not in use.',
        statements: [
          // Under both names, so that a dry run names those of a swap that stands.
          ...[partitionedName(table), archiveName(table)].map(
            name =>
              `alter table if exists ${name} drop constraint if exists ${table}_entity_fkey`,
          ),
          // A command may be killed before the partitioned table has it.
          `alter table if exists ${defaultTenantPartition(table)} ` +
            `drop constraint if exists ${table}_entity_fkey`,
        ],
      });
    }
  },
};

async function addForeignKey(
  context: StepContext,
  key: ForeignKey,
): Promise<void> {
  const { executor } = context;
  const locksIn = (mode: string) =>
    `${mode} on ${key.referenced}, for a change of the catalog, and on tables that are not in use.`;
  await addConstraint(context, {
    references: key.referenced,
    table: defaultTenantPartition(key.table),
    name: key.name,
    definition: key.definition,
    locks: locksIn('SHARE ROW EXCLUSIVE'),
  });
  const found = await constraintValidity(executor, key.target, key.name);
  if (found === 'missing') {
    await executor.transaction({
      title: `Add the constraint ${key.name} to ${key.target}`,
      locks: locksIn('ACCESS EXCLUSIVE'),
      tables: [key.referenced],
      statements: [
        `alter table ${key.target} add constraint ${escapeIdentifier(
          key.name,
        )} ${key.definition}`,
      ],
    });
  }
  if (key.comment) {
    await executor.execute(
      `comment on constraint ${escapeIdentifier(key.name)} on ${
        key.target
      } is ${escapeLiteral(key.comment)}`,
    );
  }
}

/** A foreign key that a partitioned table gets. */
export interface ForeignKey {
  table: TenantTable;
  /** The partitioned table. */
  target: string;
  name: string;
  definition: string;
  referenced: string;
  comment?: string;
}

/**
 * The foreign keys of a copy: that on the entity (specification, B.3), and those of its
 * source on other tables than tenants and entities.
 */
export async function readForeignKeys(
  executor: Executor,
  copy: TableCopy,
  entities: TableCopy,
): Promise<ForeignKey[]> {
  const { table, target } = copy;
  const keys: ForeignKey[] = [];
  if (table !== 'entities') {
    keys.push({
      table,
      target,
      name: `${table}_entity_fkey`,
      definition:
        `foreign key (tenant_id, ${copy.key}) references ${entities.target} ` +
        '(tenant_id, entity_id) on delete cascade',
      referenced: entities.target,
    });
  }
  return [...keys, ...(await readOwnForeignKeys(executor, copy))];
}

async function readOwnForeignKeys(
  executor: Executor,
  { table, source, target }: TableCopy,
): Promise<ForeignKey[]> {
  const rows = await executor.read<
    Record<string, string> & { comment: string | null }
  >(
    `select conname as name, obj_description(oid, 'pg_constraint') as comment, pg_get_constraintdef(oid) as definition,
            confrelid::regclass::text as referenced
       from pg_constraint
      where conrelid = to_regclass(quote_ident($1)) and contype = 'f'
        and conparentid = 0
        and confrelid not in (to_regclass('tenants'), to_regclass('entities'))
      order by conname`,
    [source],
  );
  return rows.map(({ name, definition, referenced, comment }) => ({
    table,
    target,
    name,
    definition: definition.replace(/ NOT VALID$/, ''),
    referenced,
    ...(comment === null ? {} : { comment }),
  }));
}
