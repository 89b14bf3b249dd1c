import { ownerStatement } from '../roles';
import { grantToReaders, revokeAllStatement } from '../schema/grants';
import { tenantPolicyStatements } from '../schema/policies';
import { escapeIdentifier } from '../sql';
import { forgetStatement, recordStatement } from './journal';
import type { Recorded } from './journal';
import { recording } from './ownership';
import type { Phase, ProductMigration, StepContext } from './Step';

// A starting backend gives up then: it serves without the migration, logs that, and tries again
// at its next start.
const PATIENCE_MS = 30_000;

/** The relations whose names it takes. */
function creationsOf({
  creates: { tables = {}, indexes = [] },
}: ProductMigration): string[] {
  return [
    ...Object.keys(tables).flatMap(table => [table, `${table}_pkey`]),
    ...indexes,
  ];
}

/** All that phases record, the migrations of a phase before its steps. */
export function recordedBy(phases: readonly Phase[]): Recorded[] {
  return phases.flatMap(({ steps, productMigrations = [] }) => [
    ...productMigrations.map(recordedOf),
    ...steps,
  ]);
}

/** A migration as the journal has it. */
export function recordedOf(migration: ProductMigration): Recorded {
  return { name: migration.name, creates: creationsOf(migration) };
}

/** Runs one that is not done. */
export async function runProductMigration(
  context: StepContext,
  migration: ProductMigration,
): Promise<void> {
  const { title, locks, tables, mode, sql, creates } = migration;
  const { executor } = recording(context, creationsOf(migration));
  await executor.transaction({
    title,
    locks,
    tables,
    mode,
    patienceMs: PATIENCE_MS,
    statements: [
      sql.trim().replace(/;$/, ''),
      ...Object.entries(creates.tables ?? {}).flatMap(
        ([table, { read, policy }]) => [
          ownerStatement(table),
          revokeAllStatement(table),
          ...(read ? [grantToReaders(table)] : []),
          ...(policy ? tenantPolicyStatements(table) : []),
        ],
      ),
      recordStatement(migration),
    ],
  });
}

/** Drops what those have created that are done, in one transaction. */
export async function undoProductMigrations(
  context: StepContext,
  done: readonly ProductMigration[],
): Promise<void> {
  if (done.length === 0) {
    return;
  }
  const tables = done.flatMap(({ creates }) =>
    Object.keys(creates.tables ?? {}),
  );
  const { executor } = recording(context, done.flatMap(creationsOf));
  await executor.transaction({
    title: "Drop the product's own tables",
    locks:
      `ACCESS EXCLUSIVE on ${tables.join(
        ', ',
      )} and tenants, for a change of the catalog. ` +
      'An application that reads them waits behind it.',
    tables: [...tables, 'tenants'],
    statements: [
      `drop table if exists ${tables.join(', ')}`,
      ...done.flatMap(({ creates }) => dropColumns(creates.columns ?? {})),
      ...done.map(forgetStatement),
    ],
  });
}

function dropColumns(
  columns: Readonly<Record<string, readonly string[]>>,
): string[] {
  return Object.entries(columns).map(
    ([table, names]) =>
      `alter table if exists ${table} ${names
        .map(name => `drop column if exists ${escapeIdentifier(name)}`)
        .join(', ')}`,
  );
}
