import type { StepContext } from '../engine/Step';
import { createCatalogTables, isFreshDatabase } from '../schema/catalogTables';
import { revokeAllStatement } from '../schema/seclude';
import { escapeIdentifier } from '../sql';
import { engineTable } from './engine';
import type { Engine } from './engine';
import { createFunctions } from './objects';
import { ADOPTION_STATE, ENGINE_TABLES, FAULTS } from './names';
import { asLogin, followOwner } from './rights';
import { CREATE_STATE, putState, readState } from './state';
import { createTriggers, tablesWithoutTriggers } from './triggers';

const CREATE_FAULTS = [
  `create table if not exists ${FAULTS} (
  source text not null,
  key text not null,
  reason text not null,
  sqlstate text not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  attempts int not null default 1,
  primary key (source, key)
)`,
  `comment on table ${FAULTS} is 'What of the catalog could not be carried, and why; written by triggers on its tables'`,
];

/**
 * Creates what carries the engine's changes from then on. It can be repeated, which
 * replaces the functions, and puts back what somebody has dropped or disabled.
 */
export async function install(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const { executor, settings } = context;
  await createTables(context);
  await executor.transaction({
    title: 'Create the functions that carry changes',
    locks: 'New objects: nobody waits for them.',
    statements: [
      ...CREATE_FAULTS,
      CREATE_STATE,
      // Faults tell of entities, and no policy is on them.
      revokeAllStatement(FAULTS),
      revokeAllStatement(ADOPTION_STATE),
      putState('engine', engine),
      ...createFunctions({ schema: settings.schema, engine }),
    ],
  });
  await followOwner(context, { engine });
  // Entities last: relations and the like are carried with their entity.
  for (const table of executor.dryRun
    ? ENGINE_TABLES
    : await tablesWithoutTriggers(executor, engine)) {
    const name = engineTable(engine, table);
    await asLogin(context, () =>
      executor.transaction({
        title: `Carry the changes of ${name}`,
        locks:
          `SHARE ROW EXCLUSIVE on ${name}, for a change of the catalog. It waits for ` +
          'the transactions that have written, so that none of them is missed.',
        tables: [name],
        statements: createTriggers(engine, table),
      }),
    );
  }
}

async function createTables(context: StepContext): Promise<void> {
  const { executor, settings } = context;
  if (!(await isFreshDatabase(context))) {
    return;
  }
  const name = escapeIdentifier(settings.schema);
  const { created } = await readState(executor);
  const [{ missing }] = await executor.read<{ missing: boolean }>(
    'select not exists (select from pg_namespace where nspname = $1) as missing',
    [settings.schema],
  );
  await executor.transaction({
    title: 'Remember what is created',
    locks: 'New objects: nobody waits for them.',
    statements: [
      ...(missing ? [`create schema ${name}`] : []),
      CREATE_STATE,
      // Before it is, so that a command that is killed leaves nothing unknown.
      putState('created', { schema: created?.schema ?? missing, tables: true }),
    ],
  });
  await createCatalogTables(context);
}
