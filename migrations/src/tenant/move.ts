import type { DatabaseError } from 'pg';
import { type Executor, executorOf } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { asLogin } from '../adopt/rights';
import { RefusedError } from '../errors';
import { notifyRegistryStatement } from '../registryChannel';
import { refuseSharedId } from '../rollback/tenantSchemas';
import { DEFAULT_TENANT_ID, RETIRED_TABLE } from '../schema/tables';
import { actAsOwner } from '../session/ownerRole';
import { escapeLiteral } from '../sql';
import { copyDifference } from './copyDifference';
import { migrationsOf } from './export';
import {
  makeMissingTables,
  refuseUnfillable,
  removeMarks,
  RETIRED_OF_ANOTHER,
} from './import';
import { requireShared, requireTable } from './loadParts';
import { announce, fillOwnTables } from './partTables';
import {
  inSnapshots,
  type Place,
  type Portal,
  whereIs,
  withPlaces,
} from './places';
import { digestOf, refuseHalfPurged } from './purge';
import {
  allowWrites,
  allowWritesOnCommit,
  REFUSED_FOR,
  refuseWrites,
} from './refusedWrites';
import type { Target } from './rewrite';
import { refuseWithoutRightsOn } from './rights';
import {
  type FoundSection,
  isOwnSchema,
  mockupSections,
  registrySections,
  schemaSections,
} from './sections';
import type { MakeTables } from './tables';

/** A deployment, and the sessions in its databases. */
interface Side {
  context: StepContext;
  places: Place[];
}

export interface MoveOptions {
  tenant: { tenantId: string; slug: string };
  portal: Portal;
  to: { context: StepContext; portal: Portal };
  makeTables: MakeTables;
}

/** The audit trail: an operation of before the last copy may be recorded during it. */
const TRAIL = 'tenant_audit';

/**
 * Changes are copied while the tenant is in use until a copy takes less, so that few are left for
 * the last one; but not more often than that.
 */
const SHORT_MS = 2_000;
const MOST_COPIES = 4;

const SERIALIZATION_FAILURE = '40001';

/** The copies of a tenant, each of which knows since when the one before has compared. */
class Move {
  /** By session, the lowest transaction id that its last copy has not seen. */
  readonly #since = new Map<Executor, string>();

  constructor(
    private readonly from: Side,
    private readonly into: Side,
    private readonly target: Target,
  ) {}

  /** Has the tenant be there, deleted: from then on a purge there gives the move up. */
  async begin(): Promise<void> {
    await inSnapshots([this.from.context.executor], () =>
      this.#copyRegistry(['tenants']),
    );
  }

  /** @returns for how many milliseconds the tenant was read-only */
  async run(): Promise<number> {
    const { reporter, executor } = this.from.context;
    reporter.info('Copying the tenant, which is in use meanwhile');
    await this.#copyAll();
    let tookMs = Infinity;
    for (let left = MOST_COPIES; left > 0 && tookMs > SHORT_MS; left -= 1) {
      reporter.info('Copying what has changed meanwhile');
      tookMs = await this.#copyAll();
    }
    const began = performance.now();
    await this.#setReadOnly(executor, true);
    try {
      reporter.info('Copying what is left. The tenant is read-only');
      await this.#refuse();
      await this.#copyAt(this.#readers, () => this.#copyParts());
      await this.#close();
    } catch (error) {
      await this.#giveUp().catch(() => undefined);
      throw error;
    }
    await this.#copyAt([executor], () => this.#copyRegistry([TRAIL]));
    await this.#open();
    return performance.now() - began;
  }

  /** Of the databases with the tables of its engine, its instances and its mockups. */
  get #readers(): Executor[] {
    return this.from.places.map(({ executor }) => executor);
  }

  /**
   * The registry last: its tenant is there when what belongs to it is.
   *
   * @returns for how many milliseconds it has copied
   */
  async #copyAll(): Promise<number> {
    const began = performance.now();
    const readers = [...this.#readers, this.from.context.executor];
    await this.#copyAt(readers, async () => {
      await this.#copyParts();
      await this.#copyRegistry();
    });
    return performance.now() - began;
  }

  /** The next copy begins at these snapshots. */
  async #copyAt(readers: Executor[], work: () => Promise<void>): Promise<void> {
    await inSnapshots(readers, async () => {
      const begun = new Map<Executor, string>();
      for (const reader of readers) {
        // The nodes of Citus have transaction ids of their own: there each copy compares all.
        const [{ id }] = await reader.read<{ id: string | null }>(
          `select case when to_regclass('pg_catalog.pg_dist_node') is null
                       then pg_snapshot_xmin(pg_current_snapshot())::text end as id`,
        );
        if (id !== null) {
          begun.set(reader, id);
        }
      }
      await work();
      begun.forEach((id, reader) => this.#since.set(reader, id));
    });
  }

  /** What is not in the registry. */
  async #copyParts(): Promise<void> {
    for (const reader of this.#readers) {
      for (const sections of await this.#partsIn(reader)) {
        await this.#copyPart(reader, sections);
      }
    }
  }

  async #partsIn(reader: Executor): Promise<FoundSection[][]> {
    const sections = [
      ...(await schemaSections(reader, this.target.tenantId)),
      ...(await mockupSections(reader)),
    ];
    return [...new Set(sections.map(({ part }) => part))].map(part =>
      sections.filter(each => each.part === part),
    );
  }

  /** @param tables - all by default */
  async #copyRegistry(tables?: string[]): Promise<void> {
    const { executor, settings } = this.from.context;
    const sections = await registrySections(executor, settings.schema);
    await this.#copyPart(
      executor,
      sections.filter(({ table }) => tables?.includes(table) ?? true),
    );
  }

  async #copyPart(reader: Executor, sections: FoundSection[]): Promise<void> {
    const { target } = this;
    const [{ part }] = sections;
    const { executor, schema } = await whereIs(
      this.into.context,
      this.into.places,
      part,
      target,
    );
    const copied = sections.map(source => ({
      source,
      destination: { ...source, schema },
    }));
    this.from.context.reporter.info(`Copying ${part}`);
    const { session } = executor;
    await session.transaction('begin', async () => {
      for (const { source } of copied) {
        await requireTable(session, source, schema);
      }
      const since = this.#since.get(reader);
      const copy = () => copyDifference(reader, session, copied, target, since);
      if (part === 'registry') {
        await copy();
        await announce(session, schema, target.slug);
        return;
      }
      // Of a move from there to here that was a moment ago.
      const refuseAgain = await allowWritesOnCommit(session, target.tenantId);
      await (isOwnSchema(part)
        ? fillOwnTables(this.into.context, session, schema, copy)
        : copy());
      await refuseAgain();
    });
  }

  /** Lets the tenant be written to again, in new sessions: a signal closes those of the command. */
  async #giveUp(): Promise<void> {
    const { context, places } = this.from;
    const { openSession, reporter, settings } = context;
    for (const [index, { connection, executor: former }] of places.entries()) {
      // A login may have a limit of connections.
      await former.session.close();
      const session = await openSession(connection);
      const executor = executorOf(session, settings, reporter);
      try {
        await allowWrites(executor, this.target.tenantId);
        if (index === 0) {
          await actAsOwner(session, settings.schema);
          await this.#setReadOnly(executor, false);
        }
      } finally {
        await session.close();
      }
    }
  }

  /** Gates refuse changes of the tenant from then on, and its engine pauses. */
  async #setReadOnly(executor: Executor, isReadOnly: boolean): Promise<void> {
    const { settings } = this.from.context;
    const { tenantId, slug } = this.target;
    const until = isReadOnly ? `now() + interval '${REFUSED_FOR}'` : 'null';
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

  /** A gate, or a request that it has let in, may be late. */
  async #refuse(): Promise<void> {
    const registry = this.from.context.settings.schema;
    for (const reader of this.#readers) {
      for (const sections of await this.#partsIn(reader)) {
        await refuseWrites(reader, { ...this.target, registry }, sections);
      }
    }
  }

  /** Tries again where the row in tenants was changed after the snapshot, by what held its lock. */
  async #close(): Promise<void> {
    for (let left = MOST_COPIES; ; left -= 1) {
      try {
        await this.#closeAtOnce();
        return;
      } catch (error) {
        if ((error as DatabaseError).code !== SERIALIZATION_FAILURE) {
          throw error;
        }
        if (left === 1) {
          throw new RefusedError(
            `The tenant "${this.target.slug}" changes faster than it is copied, and stays here. Run the command again at a quieter time: it copies what is missing.`,
          );
        }
      }
    }
  }

  /**
   * Copies the registry a last time, and deletes the tenant.
   *
   * Locks its row in tenants, for which changes of its members, shares and limits wait: these are
   * refused afterwards, as it is deleted.
   */
  async #closeAtOnce(): Promise<void> {
    const { executor, settings } = this.from.context;
    const { tenantId, slug } = this.target;
    const id = escapeLiteral(tenantId);
    const { session } = executor;
    await session.transaction(
      'begin isolation level repeatable read',
      async () => {
        await session.query(
          `select from tenants where tenant_id = ${id} for no key update`,
        );
        await this.#copyRegistry();
        const closed = await session.query(
          `update tenants set deleted_at = coalesce(deleted_at, now()), read_only_until = null
            where tenant_id = ${id}
              and (deleted_at is not null or read_only_until > clock_timestamp())
           returning tenant_id`,
        );
        if (closed.length === 0) {
          throw new RefusedError(
            `The last copy took longer than ${REFUSED_FOR}, and the tenant stays here. Run the command again: it copies what is missing.`,
          );
        }
        await session.query(
          notifyRegistryStatement(settings.schema, { tenantSlug: slug }),
        );
      },
    );
  }

  /** From then on the tenant is in use there. Until then its late writers are refused there. */
  async #open(): Promise<void> {
    const { context, places } = this.into;
    const { tenantId, slug } = this.target;
    const { session } = context.executor;
    const openRegistry = () =>
      session.transaction('begin', async () => {
        await asLogin(context, () => allowWritesOnCommit(session, tenantId));
        await session.query(
          `update tenants set deleted_at = null where tenant_id = ${escapeLiteral(
            tenantId,
          )}`,
        );
        await announce(session, context.settings.schema, slug);
      });
    const [, ...otherDatabases] = places;
    // These commit a moment after the registry: a writer is refused rather than let in too early.
    await otherDatabases.reduce(
      (inside, { executor: other }) =>
        () =>
          other.session.transaction('begin', async () => {
            await allowWritesOnCommit(other.session, tenantId);
            await inside();
          }),
      openRegistry,
    )();
    await removeMarks(places, tenantId);
  }
}

/**
 * Moves a tenant to another deployment. Copies it while it is in use, into a tenant that is
 * deleted there, and then the changes made meanwhile. Triggers refuse writes during the last
 * copy. Then it is deleted here, and restored there.
 *
 * A run that was killed can be repeated: rows that are there are not sent twice. Until the end
 * the tenant is in use here; between the last two statements it is in use nowhere.
 *
 * @returns for how many milliseconds it was read-only; nothing where it was moved before
 * @throws {@link RefusedError} if the tenant is in use there, its slug is another one's, a database
 *   is one of both deployments, or the login lacks rights
 * @throws {@link VerificationError} if its rows there are not those that it has here
 */
export async function moveToDeployment(
  context: StepContext,
  { tenant, portal, to, makeTables }: MoveOptions,
): Promise<number | undefined> {
  const { tenantId, slug } = tenant;
  if (!(await isMovable(context, to.context, { tenantId, slug }))) {
    // The command may have been killed before it did.
    await withPlaces(to.context, to.portal, there =>
      removeMarks(there, tenantId),
    );
    return undefined;
  }
  const target: Target = {
    tenantId,
    slug,
    from: { id: tenantId, slug },
    isClosed: true,
  };
  return withPlaces(context, portal, here =>
    withPlaces(to.context, to.portal, async there => {
      const from = { context, places: here };
      const into = { context: to.context, places: there };
      refuseDatabases(here, there);
      // As for an export, and for the triggers that refuse writes.
      const rights = ['select', 'delete', 'trigger'];
      await refuseWithoutRightsOn(here, tenantId, {
        own: rights,
        mockups: rights,
        makes: [],
      });
      const parts = await ownParts(from, tenantId);
      await refuseUnfillable(there, parts, tenantId);
      const sections = await registrySections(
        context.executor,
        context.settings.schema,
      );
      for (const { executor } of here) {
        sections.push(...(await mockupSections(executor)));
      }
      await requireShared(to.context, there, sections, target);
      const move = new Move(from, into, target);
      await move.begin();
      await makeMissingTables(there, parts, {
        makeTables,
        migrations: await migrationsOf(here, tenantId),
        replace: true,
        reporter: context.reporter,
        tenantId,
      });
      return move.run();
    }),
  );
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
  await refuseSharedId(here, tenantId);
  await refuseSharedId(there, tenantId);
  await refuseHalfPurged(here, tenantId);
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

/** @throws {@link RefusedError} for databases between which no tenant can be moved */
function refuseDatabases(here: Place[], there: Place[]): void {
  // The purge that follows would take the tenant from there as well.
  const both = here.find(({ server }) =>
    there.some(each => each.server === server),
  );
  if (both) {
    throw new RefusedError(
      `The database "${both.database}" is one of both deployments. Give each a configuration with databases of its own (--config, --to-config).`,
    );
  }
  // Rows are compared by checksums, for which jsonb has keys in the order of their bytes.
  const encodings = new Set([...here, ...there].map(each => each.encoding));
  if (encodings.size > 1) {
    throw new RefusedError(
      `The databases have different encodings: ${[...encodings].join(
        ', ',
      )}. Export the tenant, and import it there.`,
    );
  }
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
