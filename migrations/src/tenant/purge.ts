import { createHash } from 'node:crypto';
import { findTenantSchemas } from '../adopt/engine';
import type { StepContext } from '../engine/Step';
import { RefusedError, VerificationError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { notifyRegistryStatement } from '../registryChannel';
import { takeBackPartition } from '../partitions/move';
import { refuseDependents } from '../partitions/partitions';
import { tenantPartition } from '../partitions/tenantPartition';
import { dropSchemas, refuseSharedId } from '../rollback/tenantSchemas';
import { refuseDependentsOfSchemas } from '../schema/dependents';
import { relationExists } from '../schema/lookups';
import { identifyOldRows } from '../schema/partitions';
import {
  DEFAULT_TENANT_ID,
  RETIRED_TABLE,
  TENANT_TABLES,
} from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { formatThings, formatTime } from '../text';
import { deleteRows } from './deleteRows';
import { PEOPLE_TABLES, TASKS } from './description';
import { documentsOf } from './documents';
import { withPlaces } from './places';
import type { Place, Portal } from './places';
import { allowWrites } from './refusedWrites';
import { refuseReferringRows } from './referringRows';
import { refuseWithoutRightsOn } from './rights';
import {
  mockupSections,
  ofTenant,
  registrySections,
  sharedSchemas,
} from './sections';
import { searchTraces } from './traces';
import type { Trace, Traces } from './traces';

/** The rights to what goes. */
export const REMOVED = ['select', 'delete'];

/** What an interrupted import may have left in tables of plugins. */
export const LEFT_BEHIND = [[TASKS, 'id']] as const;

/** The tenant that goes. */
interface Subject {
  tenantId: string;
  slug: string;
}

/** What a purge has removed. */
export interface PurgeReport {
  tenantId: string;
  /** By `database schema.table`. */
  rows: Record<string, number>;
  /** By `database schema`. */
  schemas: string[];
  folders: string[];
  /** The commands by which the operator removes the rest. */
  elsewhere: string[];
  unread: Omit<Trace, 'rows'>[];
}

export interface PurgeOptions {
  slug: string;
  /** Does not wait for the retention. */
  now?: boolean;
  portal: Portal;
  /** Asks whether to go on. */
  confirm(subject: Subject): Promise<void>;
}

/**
 * Deletes everything of a deleted tenant, and then searches the databases for what is left. A run
 * that was killed can be repeated: the registry's row goes last, and the retired slug keeps the
 * id until the search finds nothing.
 *
 * @returns undefined where it was purged before
 * @throws {@link RefusedError} for a tenant that is not deleted, or not for long enough, where
 *   another registry has one of its id, and for what the login may not remove, or others depend on
 * @throws {@link VerificationError} if something is left
 */
export async function purgeTenant(
  context: StepContext,
  options: PurgeOptions,
): Promise<PurgeReport | undefined> {
  const { slug, portal, confirm } = options;
  const subject = await findSubject(context, options);
  if (!subject) {
    return undefined;
  }
  await refuseSharedId(context, subject.tenantId);
  return withPlaces(context, portal, async places => {
    await refuseUnremovable(context, places, subject);
    await confirm(subject);
    await retireSlug(context, subject);
    const report = emptyReport(subject.tenantId);
    for (const place of places) {
      await dropOwnSchemas(place, subject.tenantId, report);
      await deleteElsewhere(context, place, subject.tenantId, report);
      await deletePeople(context, place, subject.slug, report);
    }
    await endReferences(context, subject);
    await deleteOwnRows(context, places, subject.tenantId, report);
    await deleteFromRegistry(context, places, subject, report);
    await removeDocuments(context, portal, subject, report);
    report.unread = await requireNothingLeft(context, places, subject);
    await context.executor.execute(
      `update ${RETIRED_TABLE} set tenant_id = null where tenant_slug = ${escapeLiteral(
        slug,
      )}`,
    );
    return report;
  });
}

/** @throws {@link RefusedError} for a tenant of which a purge was begun, and has removed a part */
export async function refuseHalfPurged(
  { executor }: StepContext,
  tenantId: string,
): Promise<void> {
  const [retired] = await executor.read<{ slug: string }>(
    `select tenant_slug as slug from ${RETIRED_TABLE} where tenant_id = $1`,
    [tenantId],
  );
  if (retired) {
    throw new RefusedError(
      `The purge of the tenant "${
        retired.slug
      }" is not complete. Run "${operatorCommand(
        'tenant',
        `purge ${retired.slug}`,
      )}" first.`,
    );
  }
}

/** Removes what an interrupted import has left. The registry does not have its id yet. */
export async function removeLeftovers(
  context: StepContext,
  places: Place[],
  tenantId: string,
): Promise<void> {
  const report = emptyReport(tenantId);
  for (const place of places) {
    await dropOwnSchemas(place, tenantId, report);
    await deleteElsewhere(context, place, tenantId, report);
  }
  await deleteOwnRows(context, places, tenantId, report);
}

function emptyReport(tenantId: string): PurgeReport {
  return {
    tenantId,
    rows: {},
    schemas: [],
    folders: [],
    elsewhere: [],
    unread: [],
  };
}

async function findSubject(
  { executor }: StepContext,
  { slug, now }: PurgeOptions,
): Promise<Subject | undefined> {
  const [tenant] = await executor.read<{
    tenantId: string;
    isDeleted: boolean;
    ends: Date | null;
    isOver: boolean;
  }>(
    `select tenant_id as "tenantId", deleted_at is not null as "isDeleted", ends,
            coalesce(ends <= now(), false) as "isOver"
       from tenants, lateral (
         select deleted_at + make_interval(days => entity_ttl_days) as ends) retention
      where tenant_slug = $1`,
    [slug],
  );
  const [retired] = await executor.read<{ tenantId: string | null }>(
    `select tenant_id as "tenantId" from ${RETIRED_TABLE} where tenant_slug = $1`,
    [slug],
  );
  if (retired) {
    // A purge that was begun goes on.
    return retired.tenantId ? { slug, tenantId: retired.tenantId } : undefined;
  }
  if (!tenant) {
    throw new RefusedError(
      `There is no tenant "${slug}". Expected the slug of a deleted one.`,
    );
  }
  if (tenant.tenantId === DEFAULT_TENANT_ID) {
    throw new RefusedError(
      `The tenant "${slug}" is the default one, which can't be purged. The way back is "${operatorCommand(
        'rollback',
      )}".`,
    );
  }
  if (!tenant.isDeleted) {
    throw new RefusedError(
      `The tenant "${slug}" is not deleted. Delete it first, by its page or DELETE /api/tenants/${slug}.`,
    );
  }
  if (!tenant.isOver && !now) {
    throw new RefusedError(
      `The tenant "${slug}" is kept ${
        tenant.ends ? `until ${formatTime(tenant.ends)}` : 'for ever'
      }, as its entity_ttl_days says. Purge it before that with --now.`,
    );
  }
  return { slug, tenantId: tenant.tenantId };
}

/** Looks at all that refuses a part of the purge, before the first part is done. */
async function refuseUnremovable(
  { executor, settings }: StepContext,
  places: Place[],
  { tenantId, slug }: Subject,
): Promise<void> {
  await refuseWithoutRightsOn(places, tenantId, {
    mockups: REMOVED,
    removes: [...LEFT_BEHIND, ...PEOPLE_TABLES],
  });
  for (const place of places) {
    const schemas = await findTenantSchemas(place.executor, tenantId);
    await refuseDependentsOfSchemas(place.executor, schemas);
    const mockups = await mockupSections(place.executor, true);
    const registry =
      place === places[0]
        ? await registrySections(executor, settings.schema, true)
        : [];
    await refuseReferringRows(place, [...registry, ...mockups], tenantId);
  }
  const partitions = TENANT_TABLES.map(table => tenantPartition(table, slug));
  if (await relationExists(executor, partitions[0])) {
    await refuseDependents(executor, partitions);
  }
}

/** After this the tenant can't be restored, and no other tenant can take its slug. */
async function retireSlug(
  { executor }: StepContext,
  { tenantId, slug }: Subject,
): Promise<void> {
  await executor.transaction({
    title: `Retire the slug "${slug}"`,
    locks: `The row of the tenant in tenants: a change of the tenant waits for milliseconds.`,
    tables: ['tenants'],
    mode: 'rows',
    statements: [
      `insert into ${RETIRED_TABLE} (tenant_slug, tenant_digest, tenant_id)
select tenant_slug, decode('${digestOf(
        tenantId,
      )}', 'hex'), tenant_id from tenants
 where tenant_id = ${escapeLiteral(tenantId)} and deleted_at is not null
   for update
    on conflict do nothing`,
    ],
  });
  const found = await executor.read(
    `select from ${RETIRED_TABLE} where tenant_slug = $1`,
    [slug],
  );
  if (found.length === 0) {
    throw new RefusedError(
      `The tenant "${slug}" was restored meanwhile, and nothing was deleted.`,
    );
  }
}

/** Tells the exports of one tenant from those of others, without its id. */
export function digestOf(tenantId: string): string {
  return createHash('sha256').update(tenantId).digest('hex');
}

async function dropOwnSchemas(
  { database, executor }: Place,
  tenantId: string,
  report: PurgeReport,
): Promise<void> {
  const names = await findTenantSchemas(executor, tenantId);
  await dropSchemas(executor, names);
  report.schemas.push(...names.map(name => `${database} ${name}`));
}

/** Deletes the tenant's mockups and scheduled tasks. */
async function deleteElsewhere(
  context: StepContext,
  place: Place,
  tenantId: string,
  report: PurgeReport,
): Promise<void> {
  const { executor } = place;
  await allowWrites(executor, tenantId);
  for (const section of (await mockupSections(executor, true)).reverse()) {
    const where = ofTenant('mockups', tenantId);
    await deleteRows(context, place, { ...section, where }, report.rows);
  }
  const where = startsWith('id', `tenant:${tenantId}:`);
  await deleteShared(context, place, TASKS, 'id', where, report);
}

/** Deletes what the tables of plugins have of the tenant's people. */
async function deletePeople(
  context: StepContext,
  place: Place,
  slug: string,
  report: PurgeReport,
): Promise<void> {
  for (const [table, column] of PEOPLE_TABLES) {
    const where = startsWith(column, `user:${slug}/`);
    await deleteShared(context, place, table, column, where, report);
  }
}

/** Deletes rows of a plugin's table, in each schema that has it. */
async function deleteShared(
  context: StepContext,
  place: Place,
  table: string,
  column: string,
  where: string,
  report: PurgeReport,
): Promise<void> {
  for (const schema of await sharedSchemas(place.executor, table, column)) {
    await deleteRows(context, place, { schema, table, where }, report.rows);
  }
}

function startsWith(column: string, text: string): string {
  return `starts_with(${escapeIdentifier(column)}, ${escapeLiteral(text)})`;
}

/** The tables that record that the tenant exists or existed. */
const LAST = ['tenants', RETIRED_TABLE];

/** Deletes the tenant's rows in the tables of this product, but for those of the registry. */
async function deleteOwnRows(
  context: StepContext,
  [{ database }]: Place[],
  tenantId: string,
  report: PurgeReport,
): Promise<void> {
  const { executor, settings } = context;
  const place = { database, executor };
  const sections = await registrySections(executor, settings.schema, true);
  for (const section of sections.reverse()) {
    if (!LAST.includes(section.table)) {
      const where = ofTenant('registry', tenantId);
      await deleteRows(context, place, { ...section, where }, report.rows);
    }
  }
}

async function deleteFromRegistry(
  context: StepContext,
  [{ database }]: Place[],
  { tenantId, slug }: Subject,
  report: PurgeReport,
): Promise<void> {
  const { executor, settings } = context;
  const { schema } = settings;
  const place = { database, executor };
  const people = startsWith('principal', `user:${slug}/`);
  const others = await executor.read<{ id: string }>(
    `select distinct tenant_id as id from tenant_members where ${people}`,
  );
  const members = { schema, table: 'tenant_members', where: people };
  await deleteRows(context, place, members, report.rows);
  for (const { id } of others) {
    await executor.execute(notifyRegistryStatement(schema, { membersOf: id }));
  }
  if (await relationExists(executor, tenantPartition('entities', slug))) {
    await takeBackPartition(context, slug);
  }
  await identifyOldRows(executor);
  const where = ofTenant('registry', tenantId);
  const tenants = { schema, table: 'tenants', where };
  await deleteRows(context, place, tenants, report.rows);
}

/** Takes the tenant out of the shares of others, and ends those that are for it alone. */
async function endReferences(
  { executor }: StepContext,
  { tenantId, slug }: Subject,
): Promise<void> {
  const id = escapeLiteral(tenantId);
  await executor.transaction({
    title: `Share nothing with the tenant "${slug}" any more`,
    locks:
      'The rows of the shares with it: a change of such a share waits for milliseconds.',
    tables: ['tenant_shares'],
    mode: 'rows',
    statements: [
      `delete from tenant_shares where target_ids = array[${id}]::uuid[]`,
      `update tenant_shares set target_ids = array_remove(target_ids, ${id}::uuid), updated_at = now()
 where ${id}::uuid = any (target_ids)`,
      // It is asked for after the shares, whose rows are locked first everywhere.
      `delete from tenant_share_copies c where tenant_id = ${id}
    or share_id in (select share_id from tenant_shares where tenant_id = ${id})`,
    ],
  });
}

async function removeDocuments(
  { reporter }: StepContext,
  { config }: Portal,
  subject: Subject,
  report: PurgeReport,
): Promise<void> {
  const documents = documentsOf(config, subject);
  if (!documents) {
    return;
  }
  const { place, command, remove } = documents;
  if (!remove) {
    report.elsewhere.push(command);
    return;
  }
  try {
    if (await remove()) {
      report.folders.push(place);
    }
  } catch (error) {
    reporter.warn(`${place} could not be removed: ${(error as Error).message}`);
    report.elsewhere.push(command);
  }
}

/**
 * @returns what could not be searched
 * @throws {@link VerificationError} which names what is left
 */
async function requireNothingLeft(
  { executor, settings, reporter }: StepContext,
  places: Place[],
  { tenantId, slug }: Subject,
): Promise<PurgeReport['unread']> {
  reporter.info('Searching every column for what is left');
  const found: Traces[] = [];
  for (const place of places) {
    const isCatalog = place === places[0];
    found.push(
      await searchTraces(place, { tenantId, schema: settings.schema }, schema =>
        isCatalog && schema === settings.schema ? executor : place.executor,
      ),
    );
  }
  const left = found.flatMap(each => each.left);
  if (left.length > 0) {
    throw new VerificationError(
      `The id ${tenantId} of the tenant "${slug}" is left in:\n${left
        .map(
          ({ database, place, rows }) =>
            `- ${database} ${place}: ${formatThings(rows, 'row')}`,
        )
        .join('\n')}\nRemove that, and run the command again.`,
    );
  }
  return found.flatMap(({ unread }) => unread);
}
