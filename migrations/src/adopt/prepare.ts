import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { waitForOlderSnapshots } from '../engine/olderTransactions';
import { operatorCommand } from '../operatorCommand';
import { columnExists, relationExists } from '../schema/lookups';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { formatThings } from '../text';
import {
  createShared,
  DROP_SHARED,
  FORMER_SIGNATURES,
  FUNCTION_SIGNATURES,
  hasOtherFunctions,
  readFunctions,
} from './objects';
import { ownerOf } from './rights';
import { adoptedEngines, ADOPTION_STATE, FAULTS, readState } from './state';

const ADD_TENANT = `add column if not exists tenant_id uuid not null default '${DEFAULT_TENANT_ID}'`;
const NEW_KEY = `${FAULTS}_tenant_key`;

/**
 * Creates the functions and tables that adoption of any tenant needs, or replaces the
 * functions. It changes no table of an engine, and no trigger.
 *
 * It brings along what an earlier version made, which knew the default tenant alone, while
 * the engine writes: the functions of the triggers keep their names, so that a change is
 * carried by either version. A call that has begun goes on with the earlier one, whose
 * functions and key therefore stay until all older snapshots are gone. A command that is
 * killed on the way is run again.
 *
 * @param statements - run in the transaction that creates the objects
 */
export async function prepareAdoption(
  context: StepContext,
  statements: string[],
): Promise<void> {
  const { executor, settings } = context;
  const former = await readFormerLayout(context);
  const handOverStatements = await handOver(context);
  await executor.transaction({
    title: 'Create the functions that carry changes',
    locks: former
      ? `ACCESS EXCLUSIVE on ${FAULTS} and ${ADOPTION_STATE}, for a change of the ` +
        "catalog. An engine's write waits for the lock timeout at most. What the next " +
        'transactions use is there when this one ends.'
      : 'New objects, which no session uses yet.',
    tables: former?.hasNewKey === false ? [FAULTS] : [],
    statements: [
      ...(former ? bringTablesAlong(former) : []),
      ...createShared({ schema: settings.schema }),
      ...statements,
      ...handOverStatements,
    ],
  });
  if (!former) {
    return;
  }
  await waitForOlderSnapshots(
    context,
    "the engine's writes among them may use the functions of an earlier version",
  );
  await executor.transaction({
    title: 'Drop the functions of an earlier version',
    locks:
      `ACCESS EXCLUSIVE on ${FAULTS}, for a change of the catalog. An engine's write ` +
      'waits for the lock timeout at most.',
    tables: former.hasNewKey ? [] : [FAULTS],
    statements: [
      ...FORMER_SIGNATURES.map(
        signature => `drop function if exists ${signature}`,
      ),
      ...(former.hasNewKey
        ? []
        : [
            `alter table ${FAULTS} drop constraint ${FAULTS}_pkey,
  add constraint ${FAULTS}_pkey primary key using index ${NEW_KEY}`,
          ]),
    ],
  });
}

/** Brings along what an earlier version made, where there is any. */
export async function bringAdoptionAlong(context: StepContext): Promise<void> {
  if (await readFormerLayout(context)) {
    await prepareAdoption(context, []);
  }
}

/**
 * Drops what {@link prepareAdoption} made, unless an adopted engine needs it.
 *
 * The tables of a database that goes back before phase 5 have no room for other tenants than
 * the default one. The triggers of their engines stay: a change is kept aside as a fault,
 * and what the engine has is compared and carried once phase 5 is complete again.
 */
export async function forgetPreparation(context: StepContext): Promise<void> {
  const { executor, reporter } = context;
  const { prepared } = await readState(executor);
  if (!prepared) {
    return;
  }
  await bringAdoptionAlong(context);
  const engines = await adoptedEngines(context);
  const others = engines.filter(
    ({ tenantId }) => tenantId !== DEFAULT_TENANT_ID,
  );
  if (others.length > 0) {
    reporter.warn(
      `The engines of ${formatThings(others.length, 'tenant')} go on without ` +
        'tables for their entities. What they change is kept aside, and carried after ' +
        `phase 5: by the backend, or by "${operatorCommand(
          'adopt',
          '--tenant <slug>',
        )}".`,
    );
  }
  await executor.transaction({
    title: 'Forget the preparation for engines of tenants',
    locks:
      engines.length > 0
        ? 'Rows of the adoption, which no trigger uses.'
        : 'ACCESS EXCLUSIVE on tables that no session uses.',
    statements:
      engines.length > 0
        ? [
            `delete from ${ADOPTION_STATE} where key = 'prepared'`,
            `update ${ADOPTION_STATE} set value = '{"after": "", "done": false}'
 where key = 'copy' and tenant_id <> '${DEFAULT_TENANT_ID}'`,
          ]
        : DROP_SHARED,
  });
}

/** What an earlier version has left. */
interface FormerLayout {
  /** The key of the faults begins with the tenant. */
  hasNewKey: boolean;
  /** So does the key of the state. */
  hasTenants: boolean;
}

/** What an earlier version made and this one has not brought along yet. */
export async function readFormerLayout({
  executor,
  settings,
}: StepContext): Promise<FormerLayout | undefined> {
  const functions = await readFunctions(executor);
  const hasNewKey =
    !(await columnExists(executor, FAULTS, 'source')) ||
    (await keyHasTenant(executor));
  const hasTenants =
    !(await columnExists(executor, ADOPTION_STATE, 'value')) ||
    (await columnExists(executor, ADOPTION_STATE, 'tenant_id'));
  return hasNewKey &&
    hasTenants &&
    !functions.some(each => FORMER_SIGNATURES.includes(each)) &&
    !(await hasOtherFunctions(executor, { schema: settings.schema }))
    ? undefined
    : { hasNewKey, hasTenants };
}

async function keyHasTenant(executor: Executor): Promise<boolean> {
  const rows = await executor.read(
    `select from pg_constraint c
       join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any (c.conkey)
      where c.conrelid = to_regclass($1) and c.contype = 'p' and a.attname = 'tenant_id'`,
    [FAULTS],
  );
  return rows.length > 0;
}

function bringTablesAlong({ hasNewKey, hasTenants }: FormerLayout): string[] {
  return [
    ...(hasNewKey
      ? []
      : [
          `alter table ${FAULTS} ${ADD_TENANT}`,
          `create unique index if not exists ${NEW_KEY} on ${FAULTS} (tenant_id, source, key)`,
        ]),
    // No trigger uses the other table.
    ...(hasTenants
      ? []
      : [
          `alter table ${ADOPTION_STATE} ${ADD_TENANT}, drop constraint ${ADOPTION_STATE}_pkey`,
          `alter table ${ADOPTION_STATE} add primary key (tenant_id, key)`,
        ]),
  ];
}

/**
 * Gives what is created to the owner of our tables, if that is another role: as soon as the
 * transaction ends, triggers that run as the owner call the functions.
 */
async function handOver(context: StepContext): Promise<string[]> {
  const { executor } = context;
  const owner = await ownerOf(context, 'entities');
  const [{ user }] = await executor.read<{ user: string }>(
    'select current_user as user',
  );
  if (owner === user) {
    return [];
  }
  const functions = await readFunctions(executor);
  const objects = FUNCTION_SIGNATURES.filter(
    each => !functions.includes(each),
  ).map(each => `function ${each}`);
  for (const table of [FAULTS, ADOPTION_STATE]) {
    if (!(await relationExists(executor, table))) {
      objects.push(`table ${table}`);
    }
  }
  return objects.map(
    each => `alter ${each} owner to ${escapeIdentifier(owner)}`,
  );
}
