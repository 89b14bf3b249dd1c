import { cleanup } from '../cleanup/cleanup';
import { ADOPTION_FUNCTIONS, bringAdoptionAlong } from '../adopt/functions';
import { ENGINE_TABLES } from '../adopt/engine';
import { asLogin } from '../adopt/rights';
import { describeEngines } from '../adopt/status';
import { unadoptAll } from '../adopt/unadopt';
import { CHANGE_LOG } from '../copy/changeLog';
import {
  bookkeepingTables,
  FORMER_BOOKKEEPING,
  Journal,
} from '../engine/journal';
import {
  foreignNames,
  recording,
  refuseTaken,
  renewRecord,
} from '../engine/ownership';
import { recordedBy } from '../engine/ProductMigration';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { phases } from '../phases';
import { extensions } from '../phases/phase1_tenant_column/05_extensions';
import { APP_GRANTS } from '../phases/phase3_application/40_roles';
import { ADMIN_GRANTS } from '../phases/phase4_row_level_security/10_privileges';
import { FUNCTIONS as TERM_FUNCTIONS } from '../phases/phase5_partitions/15_search_tables/functions';
import { ready } from '../phases/phase5_partitions/97_mark_ready';
import { OWN_TABLES } from '../ownTables';
import { SHARDED_TABLES } from '../schema/citus';
import { CREATED } from '../schema/createdCatalog';
import type { CreatedCatalog } from '../schema/createdCatalog';
import {
  refuseDependentsOf,
  refuseDependentsOfSchemas,
} from '../schema/dependents';
import { undoGrants } from '../schema/grants';
import { existingTables } from '../schema/lookups';
import { TENANT_REQUIRED } from '../schema/policies';
import { refuseWithoutRights } from '../schema/rights';
import { TENANT_TABLES } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { RESET_OWNER_ROLE } from '../session/ownerRole';
import { enumerate } from '../text';
import { dropTenantSchemas, readTenantSchemas } from './tenantSchemas';

// Those of a swap are others': there was none.
const TABLES = OWN_TABLES.filter(
  ({ name, kind }) => kind !== 'side' && name !== CHANGE_LOG,
).map(({ name }) => name);

const FUNCTIONS = [...ADOPTION_FUNCTIONS, ...TERM_FUNCTIONS, TENANT_REQUIRED];

/**
 * Drops all that was created: the tables of tenants with their rows, the functions, and what
 * engines and plugins keep for tenants in this database. The stock catalog keeps what it has.
 * What plugins keep in other databases is named, with the statements that drop it: those may be
 * another portal's. It can be repeated: a command that was killed goes on.
 *
 * @throws {@link RefusedError} for objects of others in the schema, under names of ours too, or
 *   that depend on ours
 */
export async function dropCatalog(
  context: StepContext,
  created: CreatedCatalog,
): Promise<void> {
  const { executor, settings, state } = context;
  if (created.earlier) {
    await dropWhatEarlierVersionsMade(context);
  }
  await refuseDependentsOf(executor, [...TABLES, ...bookkeepingTables]);
  const tenantSchemas = await readTenantSchemas(context);
  await refuseDependentsOfSchemas(executor, tenantSchemas);
  await refuseOthersOwners(context, [
    ...tenantSchemas,
    ...(created.schema ? [settings.schema] : []),
  ]);
  if (created.schema) {
    await refuseOthers(context);
  }
  const journal = await Journal.read(executor, recordedBy(phases));
  const recorded = recordedNames(journal);
  refuseTaken(await foreignNames(context, journal, recorded));
  await renewRecord(context, journal);
  await executor.execute(state.put(CREATED, { ...created, dropping: true }));
  await unadoptAll(context);
  await dropTenantSchemas(context);
  await executor.execute(RESET_OWNER_ROLE);
  const tables = await existingTables(executor, TABLES);
  await recording(context, recorded).executor.transaction({
    title: 'Drop the tables of tenants',
    locks: `ACCESS EXCLUSIVE on ${tables.join(
      ', ',
    )}, which no application uses any more.`,
    tables,
    statements: [
      `drop table if exists ${TABLES.join(', ')}`,
      ...FUNCTIONS.map(name => `drop function if exists ${name}`),
    ],
  });
  await extensions.down(context);
  const schema = escapeIdentifier(settings.schema);
  await executor.transaction({
    title: 'Forget the migration',
    locks: `ACCESS EXCLUSIVE on ${bookkeepingTables.join(
      ', ',
    )}, which only this command uses.`,
    tables: bookkeepingTables,
    statements: [
      ...(await undoGrants(context, APP_GRANTS)),
      ...(await undoGrants(context, ADMIN_GRANTS)),
      `drop table if exists ${bookkeepingTables.join(', ')}`,
      ...(created.schema ? [`drop schema ${schema}`] : []),
    ],
  });
}

/** What a later version neither makes nor leaves: functions, the other sides of a swap, a table. */
async function dropWhatEarlierVersionsMade(
  context: StepContext,
): Promise<void> {
  const { executor, settings } = context;
  await cleanup({ ...context, settings: { ...settings, force: true } });
  await bringAdoptionAlong(context);
  await executor.transaction({
    title: `Drop ${FORMER_BOOKKEEPING}`,
    locks: `ACCESS EXCLUSIVE on ${FORMER_BOOKKEEPING}, which this version does not use.`,
    statements: [`drop table if exists ${FORMER_BOOKKEEPING}`],
  });
}

/**
 * The names of what was created that the record tells from others' objects: all but the three
 * tables, and those that Citus makes anew when it brings the tables back.
 */
function recordedNames(journal: Journal): string[] {
  const others: readonly string[] = journal.isDone(ready)
    ? [...SHARDED_TABLES, 'tenants']
    : TENANT_TABLES;
  return [...TABLES, ...FUNCTIONS].filter(name => !others.includes(name));
}

// What has a name in the schema but for members of extensions, and what belongs to a table: its
// partitions, sequences and statistics.
const OTHERS = `
  with recursive ours as (
    select c.oid from unnest($1::text[]) name join pg_class c on c.oid = to_regclass(name)
     union
    select i.inhrelid from pg_inherits i join ours on ours.oid = i.inhparent)
  select pg_describe_object(d.classid, d.objid, 0) as name from pg_depend d
   where d.refclassid = 'pg_namespace'::regclass and d.deptype = 'n'
     and d.refobjid = (select oid from pg_namespace where nspname = current_schema())
     and d.classid <> 'pg_extension'::regclass
     and not exists (select from pg_depend o where o.classid = d.classid and o.objid = d.objid
                                               and o.deptype in ('a', 'e', 'i'))
     and not (d.classid = 'pg_class'::regclass and d.objid in (select oid from ours))
     and not (d.classid = 'pg_proc'::regclass
              and exists (select from unnest($2::text[]) name where to_regprocedure(name) = d.objid))
   order by 1`;

/** @throws {@link RefusedError} if the login may not drop the tables, the triggers or the schemas */
async function refuseOthersOwners(
  context: StepContext,
  schemas: string[],
): Promise<void> {
  const { executor, settings } = context;
  const { schema } = settings;
  const own = (of: string, names: readonly string[]) =>
    names.map(table => ({ schema: of, table, rights: ['own'] }));
  const engines = await describeEngines(context);
  await asLogin(context, () =>
    refuseWithoutRights(executor, {
      tables: [
        ...own(schema, [...TABLES, ...bookkeepingTables]),
        ...engines.flatMap(engine => own(engine.schema, ENGINE_TABLES)),
      ],
      schemas,
    }),
  );
}

/** @throws {@link RefusedError} for objects of others in the schema that was created, and goes */
async function refuseOthers({
  executor,
  settings,
}: StepContext): Promise<void> {
  const found = await executor.read<{ name: string }>(OTHERS, [
    [...TABLES, ...bookkeepingTables],
    FUNCTIONS,
  ]);
  if (found.length > 0) {
    throw new RefusedError(
      `The schema "${settings.schema}" also has ${enumerate(
        found.map(({ name }) => name),
      )}. Drop or move that, and run the command again.`,
    );
  }
}
