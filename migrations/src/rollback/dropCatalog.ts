import { unadoptAll } from '../adopt/unadopt';
import { ADOPTION_FUNCTIONS } from '../adopt/functions';
import { dropChangeLog } from '../copy/changeLog';
import { FENCE_FUNCTION } from '../copy/fence';
import { REPLAY_FUNCTION } from '../copy/replay';
import { bookkeepingTables } from '../engine/journal';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { extensions } from '../phases/phase1_tenant_column/05_extensions';
import { APP_GRANTS } from '../phases/phase3_application/40_roles';
import { ADMIN_GRANTS } from '../phases/phase4_row_level_security/10_privileges';
import { FUNCTIONS as TERM_FUNCTIONS } from '../phases/phase5_partitions/15_search_tables/functions';
import { OWN_TABLES } from '../ownTables';
import { rememberCreated } from '../schema/createdCatalog';
import type { CreatedCatalog } from '../schema/createdCatalog';
import { refuseDependentsOf } from '../schema/dependents';
import { undoGrants } from '../schema/grants';
import { existingTables } from '../schema/lookups';
import { TENANT_REQUIRED } from '../schema/policies';
import { escapeIdentifier } from '../sql';
import { RESET_OWNER_ROLE } from '../session/ownerRole';
import { enumerate } from '../text';
import { dropTenantSchemas } from './tenantSchemas';

const TABLES = OWN_TABLES.map(({ name }) => name);

const FUNCTIONS = [
  ...ADOPTION_FUNCTIONS,
  ...TERM_FUNCTIONS,
  TENANT_REQUIRED,
  REPLAY_FUNCTION,
  FENCE_FUNCTION,
];

/**
 * Drops all that was created: the tables of tenants with their rows, the functions, and what
 * engines and plugins keep for tenants in this database. The stock catalog keeps what it has.
 * What plugins keep in other databases is named, with the statements that drop it: those may be
 * another portal's. It can be repeated: a command that was killed goes on.
 *
 * @throws {@link RefusedError} for objects of others in the schema, or that depend on ours
 */
export async function dropCatalog(
  context: StepContext,
  created: CreatedCatalog,
): Promise<void> {
  const { executor, settings, state } = context;
  await refuseDependentsOf(executor, [...TABLES, ...bookkeepingTables]);
  await refuseOthers(context);
  await executor.execute(
    rememberCreated(state, { ...created, dropping: true }),
  );
  await unadoptAll(context);
  await dropTenantSchemas(context);
  await executor.execute(RESET_OWNER_ROLE);
  const tables = await existingTables(executor, TABLES);
  await executor.transaction({
    title: 'Drop the tables of tenants',
    locks: `ACCESS EXCLUSIVE on ${tables.join(
      ', ',
    )}, which no application uses any more.`,
    tables,
    statements: [
      `drop table if exists ${TABLES.join(', ')}`,
      ...FUNCTIONS.map(name => `drop function if exists ${name}`),
      ...dropChangeLog(),
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

/** @throws {@link RefusedError} for tables of others in the schema */
async function refuseOthers({
  executor,
  settings,
}: StepContext): Promise<void> {
  const found = await executor.read<{ name: string }>(
    `with recursive ours as (
       select c.oid from unnest($1::text[]) name join pg_class c on c.oid = to_regclass(name)
        union
       select i.inhrelid from pg_inherits i join ours on ours.oid = i.inhparent)
     select c.oid::regclass::text as name from pg_class c
      where c.relnamespace = (select oid from pg_namespace where nspname = current_schema()) and c.relkind in ('r', 'p', 'v', 'm', 'f')
        and c.oid not in (select oid from ours)
      order by 1`,
    [[...TABLES, ...bookkeepingTables]],
  );
  if (found.length > 0) {
    throw new RefusedError(
      `The schema "${settings.schema}" also has ${enumerate(
        found.map(({ name }) => name),
      )}. Drop or move that, and run the command again.`,
    );
  }
}
