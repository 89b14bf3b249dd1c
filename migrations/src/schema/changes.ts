import type { StepContext } from '../engine/Step';
import { recordBuildStatement } from '../engine/ownership';
import { escapeIdentifier } from '../sql';
import { constraintValidity, indexValidity } from './lookups';

/** An index of a table in use. */
export interface IndexDefinition {
  name: string;
  table: string;
  unique?: boolean;
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
export async function createIndexConcurrently(
  { executor }: StepContext,
  { name, table, unique, on }: IndexDefinition,
): Promise<void> {
  const found = await indexValidity(executor, name);
  if (found === 'invalid') {
    await executor.execute(dropIndexStatement(name));
  }
  if (found !== 'valid') {
    await executor.execute(recordBuildStatement(name));
    await executor.execute(
      `create ${unique ? 'unique ' : ''}index concurrently ` +
        `${escapeIdentifier(name)} on ${escapeIdentifier(table)} ${on}`,
    );
  }
}

/** Drops an index, if it exists, while the application reads and writes. */
export async function dropIndexConcurrently(
  { executor }: StepContext,
  name: string,
): Promise<void> {
  await executor.execute(dropIndexStatement(name));
}

function dropIndexStatement(name: string): string {
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
  /** Which locks it takes, for the log and the dry run. */
  locks: string;
}

/**
 * Adds a constraint for new rows, and then validates it for existing ones.
 *
 * NOT VALID makes the first part a change of the catalog alone; VALIDATE takes SHARE UPDATE
 * EXCLUSIVE, which conflicts with neither reads nor writes.
 */
export async function addConstraint(
  { executor }: StepContext,
  { name, table, references, definition, locks }: ConstraintDefinition,
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
  { name, table, references, locks }: Omit<ConstraintDefinition, 'definition'>,
): Promise<void> {
  await executor.transaction({
    title: `Drop the constraint ${name} of ${table}`,
    locks,
    tables: tablesOf(table, references),
    statements: [
      `alter table ${escapeIdentifier(table)} drop constraint if exists ` +
        `${escapeIdentifier(name)}`,
    ],
  });
}

function tablesOf(table: string, references: string | undefined): string[] {
  return [table, ...(references ? [references] : [])].map(escapeIdentifier);
}
