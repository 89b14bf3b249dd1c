import type { Step, StepContext } from '../engine/Step';
import { escapeIdentifier } from '../sql';
import { constraintValidity, indexValidity } from './lookups';

/** An index of a table in use. */
export interface IndexDefinition {
  name: string;
  table: string;
  /** What follows the name of the table: `(tenant_id) where …`. */
  on: string;
}

/**
 * Builds an index while the application reads and writes.
 *
 * CREATE INDEX CONCURRENTLY takes SHARE UPDATE EXCLUSIVE on the table, which conflicts with
 * neither, and waits for older transactions. An interrupted build leaves an invalid index,
 * which this drops first.
 */
async function createIndexConcurrently(
  { executor }: StepContext,
  { name, table, on }: IndexDefinition,
): Promise<void> {
  const found = await indexValidity(executor, name);
  if (found === 'invalid') {
    await executor.execute(dropIndexStatement(name));
  }
  if (found !== 'valid') {
    await executor.execute(
      'create index concurrently ' +
        `${escapeIdentifier(name)} on ${escapeIdentifier(table)} ${on}`,
    );
  }
}

/** Drops an index, if it exists, while the application reads and writes. */
export function dropIndexStatement(name: string): string {
  return `drop index concurrently if exists ${escapeIdentifier(name)}`;
}

/** A constraint of a table in use. */
export interface ConstraintDefinition {
  name: string;
  table: string;
  /** `check (…)` or `foreign key (…) references …`. */
  definition: string;
  /** The table that it references. */
  references?: string;
  /** Which locks it takes; for a table in use they are known. */
  locks?: string;
}

/**
 * Adds a constraint for new rows, and then validates it for existing ones.
 *
 * NOT VALID makes the first part a change of the catalog alone; VALIDATE takes SHARE UPDATE
 * EXCLUSIVE, which conflicts with neither reads nor writes.
 */
export async function addConstraint(
  { executor }: StepContext,
  {
    name,
    table,
    references,
    definition,
    locks = references
      ? `SHARE ROW EXCLUSIVE on ${table} and ${references}, for a change of the catalog: ` +
        'writers wait for it, readers do not, and no row is read.'
      : catalogOnly(table),
  }: ConstraintDefinition,
): Promise<void> {
  const found = await constraintValidity(executor, table, name);
  if (found === 'missing') {
    await executor.transaction({
      title: `Add the constraint ${name} to ${table}`,
      locks,
      tables: tablesOf(table, references),
      mode: references ? 'share row exclusive' : 'access exclusive',
      statements: [
        `alter table ${escapeIdentifier(table)} add constraint ` +
          `${escapeIdentifier(name)} ${definition} not valid`,
      ],
    });
  }
  if (found !== 'valid') {
    await executor.execute(
      `alter table ${escapeIdentifier(table)} validate constraint ` +
        `${escapeIdentifier(name)}`,
    );
  }
}

/** Drops a constraint, if it exists. */
export async function dropConstraint(
  { executor }: StepContext,
  {
    name,
    table,
    references,
  }: Pick<ConstraintDefinition, 'name' | 'table' | 'references'>,
): Promise<void> {
  await executor.transaction({
    title: `Drop the constraint ${name} of ${table}`,
    locks: references
      ? `ACCESS EXCLUSIVE on ${table} and ${references}, for a change of the catalog.`
      : catalogOnly(table),
    tables: tablesOf(table, references),
    statements: [
      `alter table ${escapeIdentifier(table)} drop constraint if exists ` +
        `${escapeIdentifier(name)}`,
    ],
  });
}

/** A column of a table in use that becomes NOT NULL. */
interface RequiredColumn {
  table: string;
  column: string;
  /** The name of the constraint that proves it meanwhile. */
  proof: string;
}

/**
 * Makes a column NOT NULL. SET NOT NULL alone scans the table under ACCESS EXCLUSIVE; with a
 * check constraint that was validated under a weaker lock it skips the scan.
 *
 * @param statements - run in the same transaction
 */
export async function setNotNull(
  context: StepContext,
  { table, column, proof }: RequiredColumn,
  statements: string[] = [],
): Promise<void> {
  const name = escapeIdentifier(column);
  await addConstraint(context, {
    name: proof,
    table,
    definition: `check (${name} is not null)`,
  });
  await context.executor.transaction({
    title: `Set ${table}.${column} NOT NULL`,
    locks: `${catalogOnly(table)} The validated constraint proves it.`,
    tables: [table],
    statements: [
      `alter table ${table} alter column ${name} set not null`,
      `alter table ${table} drop constraint if exists ${escapeIdentifier(
        proof,
      )}`,
      ...statements,
    ],
  });
}

/**
 * The counterpart of {@link setNotNull}.
 *
 * @param column - with `proof`, if a killed one may have left it
 */
export async function dropNotNull(
  { executor }: StepContext,
  { table, column, proof }: Omit<RequiredColumn, 'proof'> & { proof?: string },
): Promise<void> {
  await executor.transaction({
    title: `Drop NOT NULL of ${table}.${column}`,
    locks: catalogOnly(table),
    tables: [table],
    statements: [
      `alter table ${table} alter column ${escapeIdentifier(
        column,
      )} drop not null`,
      ...(proof
        ? [`alter table ${table} drop constraint if exists ${proof}`]
        : []),
    ],
  });
}

type IsNeeded<Item> = (context: StepContext, item: Item) => Promise<boolean>;

/** A step that builds indexes of tables in use. */
export function indexStep(
  step: Pick<Step, 'name' | 'title'>,
  indexes: readonly IndexDefinition[],
  isNeeded?: IsNeeded<IndexDefinition>,
): Step {
  return {
    ...stepOfEach(step, indexes, isNeeded, {
      add: createIndexConcurrently,
      drop: ({ executor }, { name }) =>
        executor.execute(dropIndexStatement(name)),
    }),
    creates: indexes.map(({ name }) => name),
  };
}

/** A step that adds constraints to tables in use. */
export function constraintStep(
  step: Pick<Step, 'name' | 'title'>,
  constraints: readonly ConstraintDefinition[],
  isNeeded?: IsNeeded<ConstraintDefinition>,
): Step {
  return stepOfEach(step, constraints, isNeeded, {
    add: addConstraint,
    drop: dropConstraint,
  });
}

function stepOfEach<Item>(
  step: Pick<Step, 'name' | 'title'>,
  items: readonly Item[],
  isNeeded: IsNeeded<Item> = async () => true,
  {
    add,
    drop,
  }: Record<
    'add' | 'drop',
    (context: StepContext, item: Item) => Promise<void>
  >,
): Step {
  return {
    ...step,
    live: true,
    async up(context) {
      for (const item of items) {
        if (await isNeeded(context, item)) {
          await add(context, item);
        }
      }
    },
    async down(context) {
      for (const item of items) {
        await drop(context, item);
      }
    },
  };
}

/** The lock of a change that reads no row. */
export function catalogOnly(table: string): string {
  return `ACCESS EXCLUSIVE on ${table}, for a change of the catalog: no row is read.`;
}

function tablesOf(table: string, references: string | undefined): string[] {
  return [table, ...(references ? [references] : [])].map(escapeIdentifier);
}
