import { setTimeout as delay } from 'node:timers/promises';
import { requireTenant } from '../adopt/engine';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { notifyRegistryStatement } from '../registryChannel';
import { DEFAULT_TENANT_ID, RETIRED_TABLE } from '../schema/tables';
import { withLockRetries } from '../session/lockRetries';
import type { MigrationSession } from '../session/MigrationSession';
import { escapeLiteral } from '../sql';
import { type Copied, copyDifference, nameOf } from './copyDifference';
import { migrationsOf } from './export';
import {
  makeMissingTables,
  mockupPlace,
  placeOf,
  RETIRED_OF_ANOTHER,
} from './import';
import { requireTable, type Target } from './loadPart';
import { announce, fillOwnTables, tableNames } from './partTables';
import { type Place, type Portal, withPlaces } from './places';
import { digestOf } from './purge';
import {
  type FoundSection,
  isOwnSchema,
  mockupSections,
  registrySections,
  schemaOfPart,
  schemaSections,
} from './sections';
import type { MakeTables } from './tables';

/** A deployment, and the sessions in its databases. */
interface Side {
  context: StepContext;
  places: Place[];
}

export interface MoveOptions {
  slug: string;
  portal: Portal;
  to: { context: StepContext; portal: Portal };
  makeTables: MakeTables;
  /** {@link GRACE_MS} by default. */
  graceMs?: number;
}

/** What was done before the last copy may be recorded during it. */
const TRAIL = 'tenant_audit';

/**
 * For how long, once the tenant is read-only, requests that were let in before may still write
 * mockups and the registry.
 */
const GRACE_MS = 2_000;

/** For how long the tenant stays read-only at most, where the command is killed. */
const READ_ONLY_FOR = '10 minutes';

/**
 * Brings a tenant to another deployment. It is copied twice while it is in use, to a tenant that
 * is deleted there: the second time sends what has changed during the first. It is copied a last
 * time while it is read-only and nothing of it can be written. Then it is deleted here, and
 * restored there.
 *
 * Killed at any moment, it can be run again: what is there already is not sent twice. Until the
 * end it is in use here; between the last two statements it is in use nowhere.
 *
 * @returns for how many milliseconds it was read-only; nothing where it was moved before
 * @throws {@link RefusedError} if the tenant is in use there, or its slug is another one's
 * @throws {@link VerificationError} if its rows there are not those that it has here
 */
export async function moveToDeployment(
  context: StepContext,
  { slug, portal, to, makeTables, graceMs = GRACE_MS }: MoveOptions,
): Promise<number | undefined> {
  const { tenantId } = await requireTenant(context, slug);
  if (!(await isMovable(context, to.context, { tenantId, slug }))) {
    return undefined;
  }
  let readOnlyMs = 0;
  const target: Target = {
    tenantId,
    slug,
    from: { id: tenantId, slug },
    isClosed: true,
  };
  await withPlaces(context, portal, here =>
    withPlaces(to.context, to.portal, async there => {
      const from = { context, places: here };
      const into = { context: to.context, places: there };
      const migrations = await migrationsOf(here, tenantId);
      const { reporter } = context;
      await makeMissingTables(there, await ownParts(from, tenantId), {
        makeTables,
        migrations,
        replace: true,
        reporter,
        tenantId,
      });
      const readers = [context, ...here].map(({ executor }) => executor);
      reporter.info('Copying the tenant, which is in use meanwhile');
      await inSnapshots(readers, () => copyAll(from, into, target));
      reporter.info('Copying what has changed meanwhile');
      await inSnapshots(readers, () => copyAll(from, into, target));
      const began = performance.now();
      await setReadOnly(from, target, true);
      try {
        reporter.info('Copying what is left. The tenant is read-only');
        await closeAfter(portal, from, target, {
          first: () => copyOwnTables(from, into, target),
          last: async () => {
            await copyMockups(from, into, target);
            await copyRegistry(from, into, target);
          },
          graceUntil: began + graceMs,
        });
      } catch (error) {
        await setReadOnly(from, target, false).catch(() => undefined);
        throw error;
      }
      await inSnapshots([context.executor], () =>
        copyRegistry(from, into, target, [TRAIL]),
      );
      await open(into, target);
      readOnlyMs = performance.now() - began;
    }),
  );
  return readOnlyMs;
}

/**
 * @returns false for a tenant that is there, and deleted here
 * @throws {@link RefusedError} for one that can't go there
 */
async function isMovable(
  here: StepContext,
  there: StepContext,
  { tenantId, slug }: { tenantId: string; slug: string },
): Promise<boolean> {
  if (tenantId === DEFAULT_TENANT_ID) {
    throw new RefusedError(
      `The tenant "${slug}" is the default one, which can't be moved.`,
    );
  }
  const active = `select from tenants where tenant_id = $1 and deleted_at is null`;
  if ((await there.executor.read(active, [tenantId])).length > 0) {
    if ((await here.executor.read(active, [tenantId])).length === 0) {
      return false;
    }
    throw new RefusedError(
      `The tenant "${slug}" is in use at the destination too. Delete it there, or here.`,
    );
  }
  const taken = await there.executor.read(
    `select from tenants where tenant_slug = $1 and tenant_id <> $3
      union all
     ${RETIRED_OF_ANOTHER}
      union all
     select from ${RETIRED_TABLE} where tenant_id = $3`,
    [slug, digestOf(tenantId), tenantId],
  );
  if (taken.length > 0) {
    throw new RefusedError(
      `The slug "${slug}" is taken at the destination. Export the tenant, and import it there with --slug.`,
    );
  }
  return true;
}

/** The engine and the instances that have a schema. */
async function ownParts({ places }: Side, tenantId: string): Promise<string[]> {
  const parts = new Set(Object.keys(await migrationsOf(places, tenantId)));
  for (const { executor } of places) {
    const sections = await schemaSections(executor, tenantId);
    sections.forEach(({ part }) => parts.add(part));
  }
  return [...parts];
}

/** Each session reads what there is at one moment. */
async function inSnapshots(
  readers: Executor[],
  work: () => Promise<void>,
): Promise<void> {
  try {
    for (const reader of readers) {
      await reader.execute('begin isolation level repeatable read read only');
    }
    await work();
  } finally {
    for (const reader of readers) {
      await reader.execute('rollback').catch(() => undefined);
    }
  }
}

/** The registry last: its tenant is there when what belongs to it is. */
async function copyAll(from: Side, into: Side, target: Target): Promise<void> {
  await copyOwnTables(from, into, target);
  await copyMockups(from, into, target);
  await copyRegistry(from, into, target);
}

/** Those of its engine and instances. */
async function copyOwnTables(
  { context, places }: Side,
  into: Side,
  target: Target,
): Promise<void> {
  for (const { executor } of places) {
    const sections = await schemaSections(executor, target.tenantId);
    await copyParts(context, executor, into, target, sections);
  }
}

async function copyMockups(
  { context, places }: Side,
  into: Side,
  target: Target,
): Promise<void> {
  for (const { executor } of places) {
    const sections = await mockupSections(executor);
    await copyParts(context, executor, into, target, sections);
  }
}

/** @param tables - all by default */
async function copyRegistry(
  { context }: Side,
  into: Side,
  target: Target,
  tables?: string[],
): Promise<void> {
  const { executor, settings } = context;
  const sections = await registrySections(executor, settings.schema);
  await copyParts(
    context,
    executor,
    into,
    target,
    sections.filter(({ table }) => tables?.includes(table) ?? true),
  );
}

async function copyParts(
  from: StepContext,
  reader: Executor,
  into: Side,
  target: Target,
  sections: FoundSection[],
): Promise<void> {
  for (const part of new Set(sections.map(each => each.part))) {
    const { executor, schema } = await destinationOf(into, part, target);
    const copied: Copied[] = sections
      .filter(each => each.part === part)
      .map(source => ({ source, destination: { ...source, schema } }));
    from.reporter.info(`Copying ${part}`);
    const { session } = executor;
    await session.transaction('begin', async () => {
      for (const { source } of copied) {
        await requireTable(session, source, schema);
      }
      const copy = () => copyDifference(reader, session, copied, target);
      await (isOwnSchema(part) ? fillOwnTables(session, schema, copy) : copy());
    });
  }
}

async function destinationOf(
  { context, places }: Side,
  part: string,
  { tenantId }: Target,
): Promise<{ executor: Executor; schema: string }> {
  if (part === 'registry') {
    return { executor: context.executor, schema: context.settings.schema };
  }
  if (part !== 'mockups') {
    const { executor } = placeOf(places, part);
    return { executor, schema: schemaOfPart(part, tenantId) };
  }
  const mockups = await mockupPlace(places);
  if (!mockups) {
    throw new RefusedError(
      'The destination has no tables of the mockup plugin. Start its backend once, or give --to-config or --database.',
    );
  }
  return mockups;
}

/** Gates refuse changes of the tenant from then on, and its engine pauses. */
async function setReadOnly(
  { context: { executor, settings } }: Side,
  { tenantId, slug }: Target,
  isReadOnly: boolean,
): Promise<void> {
  const until = isReadOnly ? `now() + interval '${READ_ONLY_FOR}'` : 'null';
  await executor.transaction({
    title: `Have the tenant "${slug}" be ${
      isReadOnly ? 'read-only' : 'written to'
    }`,
    locks: `The row of the tenant in tenants: a change of the tenant waits for milliseconds.`,
    tables: ['tenants'],
    mode: 'rows',
    statements: [
      `update tenants set read_only_until = ${until} where tenant_id = ${escapeLiteral(
        tenantId,
      )}`,
      notifyRegistryStatement(settings.schema, { tenantSlug: slug }),
    ],
  });
}

/** What is copied while nothing of the tenant is written. */
interface LastCopies {
  /** The tables of its engine and instances. */
  first(): Promise<void>;
  /** What has rows of all tenants: requests of before may write it until then. */
  last(): Promise<void>;
  graceUntil: number;
}

/**
 * Copies what is left while nothing of the tenant is written, and deletes it.
 *
 * Locks, until the end, for seconds: SHARE on the tables of its engine and instances, so that these
 * wait where they are still at work; and, for the last copy, its row in tenants, for which changes
 * of its members, shares and limits wait. Readers do not wait.
 */
async function closeAfter(
  portal: Portal,
  { context, places }: Side,
  { tenantId, slug }: Target,
  { first, last, graceUntil }: LastCopies,
): Promise<void> {
  const { settings, executor } = context;
  const id = escapeLiteral(tenantId);
  const readers = places.map(place => place.executor);
  await withPlaces(context, portal, async lockers => {
    for (const locker of lockers) {
      await lockOwnTables(context, locker, tenantId);
    }
    await inSnapshots(readers, first);
    await delay(Math.max(0, graceUntil - performance.now()));
    for (const reader of readers) {
      await awaitWritersOfMockups(reader);
    }
    const { session } = executor;
    await session.transaction(
      'begin isolation level repeatable read',
      async () => {
        await session.query(
          `select from tenants where tenant_id = ${id} for no key update`,
        );
        await inSnapshots(readers, last);
        const closed = await session.query(
          `update tenants set deleted_at = coalesce(deleted_at, now()), read_only_until = null
            where tenant_id = ${id}
              and (deleted_at is not null or read_only_until > clock_timestamp())
           returning tenant_id`,
        );
        if (closed.length === 0) {
          throw new RefusedError(
            `The last copy took longer than ${READ_ONLY_FOR}, and the tenant stays here. Run the command again, which sends what is missing.`,
          );
        }
        await session.query(
          notifyRegistryStatement(settings.schema, { tenantSlug: slug }),
        );
      },
    );
  });
}

/** Requests of before may take longer than their grace: an import of mockups is one transaction. */
async function awaitWritersOfMockups(executor: Executor): Promise<void> {
  const tables = (await mockupSections(executor)).map(nameOf);
  if (tables.length > 0) {
    await executor.transaction({
      title: 'Wait for what still writes mockups',
      locks:
        'SHARE ROW EXCLUSIVE on the tables of mockups, of all tenants: waits for their writers, ' +
        'who wait for it up to --max-pause at a time. Once granted, it ends at once.',
      tables,
      mode: 'share row exclusive',
      statements: ['select 1'],
    });
  }
}

/** In a transaction that ends with the session. */
async function lockOwnTables(
  { reporter, settings }: StepContext,
  { executor }: Place,
  tenantId: string,
): Promise<void> {
  const { session } = executor;
  const tables: string[] = [];
  for (const { part } of await schemaSections(executor, tenantId)) {
    tables.push(...(await tableNames(session, schemaOfPart(part, tenantId))));
  }
  if (tables.length > 0) {
    const names = [...new Set(tables)].join(', ');
    await withLockRetries(
      {
        title: `Keep the tables of the tenant as they are`,
        session,
        reporter,
        maxPauseMs: settings.maxPauseMs,
        tables: [...new Set(tables)],
        mode: 'share row exclusive',
      },
      timeoutMs => lockShared(session, names, timeoutMs),
    );
  }
}

async function lockShared(
  session: MigrationSession,
  names: string,
  timeoutMs: number,
): Promise<void> {
  try {
    await session.query(
      `begin; set local lock_timeout = ${timeoutMs}; lock table ${names} in share mode`,
    );
  } catch (error) {
    await session.rollback();
    throw error;
  }
}

/** From then on the tenant is in use there. */
async function open(
  { context: { executor, settings } }: Side,
  { tenantId, slug }: Target,
): Promise<void> {
  const { session } = executor;
  await session.transaction('begin', async () => {
    await session.query(
      `update tenants set deleted_at = null where tenant_id = ${escapeLiteral(
        tenantId,
      )}`,
    );
    await announce(session, settings.schema, slug);
  });
}
