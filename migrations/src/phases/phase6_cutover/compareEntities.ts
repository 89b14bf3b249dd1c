import type { Executor } from '../../engine/Executor';
import { VerificationError } from '../../errors';
import { DEFAULT_TENANT_ID, DEFAULT_TENANT_SLUG } from '../../schema/tables';
import { canonicalRef } from './TenantApplication';
import type { TenantApplication } from './TenantApplication';

const PAGE = 500;

/** The largest number of entities of which all are compared, instead of a sample. */
const COMPARE_ALL_UP_TO = 5000;

const SAMPLE_PAGES = 4;
const SAMPLE_REFS = 200;

// The query string stays below the limits of proxies.
const REFS_PER_REQUEST = 20;

// Concurrent writes move entities between pages: only a difference in every attempt
// counts.
const ATTEMPTS = 3;

const NAMED = 5;

const LIVE = `tenant_id = '${DEFAULT_TENANT_ID}' and deleted_at is null`;

/** The references of the default tenant's live entities, by the database. */
class DefaultTenantRefs {
  constructor(private readonly executor: Executor) {}

  async count(): Promise<number> {
    const [{ count }] = await this.executor.read<{ count: string }>(
      `select count(*) as count from entities where ${LIVE}`,
    );
    return Number(count);
  }

  async all(): Promise<string[]> {
    return this.refs(`select entity_ref from entities where ${LIVE}`);
  }

  /** A random sample. */
  async sample(size: number): Promise<string[]> {
    return this.refs(
      `select entity_ref from entities where ${LIVE} order by random() limit $1`,
      [size],
    );
  }

  /** Those of the references, in lower case, that are live. */
  async among(refs: string[]): Promise<string[]> {
    return this.refs(
      `select entity_ref from entities
        where ${LIVE}
          and lower(lower(entity_ref collate "C") collate "default") = any ($1)`,
      [refs],
    );
  }

  private async refs(sql: string, values?: unknown[]): Promise<string[]> {
    const rows = await this.executor.read<{ entity_ref: string }>(sql, values);
    return rows.map(row => canonicalRef(row.entity_ref));
  }
}

/** The extent of a comparison. */
interface Comparison {
  /** Live entities of the default tenant in the database. */
  live: number;
  /** How many of them were compared. */
  compared: number;
}

interface Difference {
  missing: string[];
  surplus: string[];
}

/**
 * Compares the application's list for the default tenant with the database.
 *
 * @throws {@link VerificationError} which names entities that differ
 */
export async function compareEntities(
  application: TenantApplication,
  executor: Executor,
): Promise<Comparison> {
  const database = new DefaultTenantRefs(executor);
  const live = await database.count();
  const whole = live <= COMPARE_ALL_UP_TO;
  for (let attempt = 1; ; attempt += 1) {
    const { compared, missing, surplus } = await (whole
      ? compareAll(application, database)
      : compareSample(application, database, live));
    if (missing.length + surplus.length === 0) {
      return { live, compared };
    }
    if (attempt === ATTEMPTS) {
      throw failure(live, { missing, surplus });
    }
  }
}

async function compareAll(
  application: TenantApplication,
  database: DefaultTenantRefs,
): Promise<Difference & { compared: number }> {
  const before = new Set(await database.all());
  const listed = await listAll(application);
  const after = new Set(await database.all());
  return {
    compared: listed.size,
    missing: [...before].filter(ref => after.has(ref) && !listed.has(ref)),
    surplus: [...listed].filter(ref => !before.has(ref) && !after.has(ref)),
  };
}

async function listAll(application: TenantApplication): Promise<Set<string>> {
  const listed = new Set<string>();
  for (let offset = 0; ; offset += PAGE) {
    const known = listed.size;
    const page = await application.listEntities(
      DEFAULT_TENANT_SLUG,
      PAGE,
      offset,
    );
    page.forEach(ref => listed.add(ref));
    // A page with nothing new: the application ignores the offset.
    if (page.length !== PAGE || listed.size === known) {
      return listed;
    }
  }
}

/** Looks up listed entities in the database, and entities of the database in the list. */
async function compareSample(
  application: TenantApplication,
  database: DefaultTenantRefs,
  live: number,
): Promise<Difference & { compared: number }> {
  const listed = new Set<string>();
  for (let page = 0; page < SAMPLE_PAGES; page += 1) {
    const offset = Math.floor(((live - PAGE) / (SAMPLE_PAGES - 1)) * page);
    const refs = await application.listEntities(
      DEFAULT_TENANT_SLUG,
      PAGE,
      offset,
    );
    refs.forEach(ref => listed.add(ref));
  }
  const known = new Set(await database.among([...listed]));
  const wanted = await database.sample(SAMPLE_REFS);
  const found = new Set<string>();
  for (let first = 0; first < wanted.length; first += REFS_PER_REQUEST) {
    const refs = wanted.slice(first, first + REFS_PER_REQUEST);
    const answer = await application.findEntities(DEFAULT_TENANT_SLUG, refs);
    answer.forEach(ref => found.add(ref));
  }
  const absent = wanted.filter(ref => !found.has(ref));
  return {
    compared: new Set([...listed, ...wanted]).size,
    missing: absent.length > 0 ? await database.among(absent) : [],
    surplus: [...listed].filter(ref => !known.has(ref)),
  };
}

function failure(live: number, { missing, surplus }: Difference): Error {
  return new VerificationError(
    [
      `The default tenant has ${live} live entities in the database, and the ` +
        'application does not list the same.',
      ...named('Missing in the application', missing),
      ...named('Not in the database', surplus),
      'Does the application use this database and schema, and may the owner of ' +
        'MIGRATION_TOKEN read all entities (permissions)?',
    ].join(' '),
  );
}

function named(what: string, refs: string[]): string[] {
  if (refs.length === 0) {
    return [];
  }
  const more = refs.length - NAMED;
  return [
    `${what}: ${refs.slice(0, NAMED).join(', ')}${
      more > 0 ? ` and ${more} more` : ''
    }.`,
  ];
}
