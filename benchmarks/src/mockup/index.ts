import { resolvePackagePath } from '@backstage/backend-plugin-api';
import type { Postgres } from '@internal/postgres';
import type { LayoutItem } from 'backstage-plugin-mockup-common';
import type { Knex } from 'knex';
import { isDeepStrictEqual } from 'node:util';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import {
  compare,
  type Comparison,
  type Contestant,
  measureInTurn,
} from '../harness/comparison';
import { countStatements, withKnex } from '../harness/database';
import { LoadGenerator, type LoadRequest } from '../harness/load';
import {
  ServerProcess,
  startTogether,
  tokenOfGuest,
  USER,
} from '../harness/servers';

/** The servers of this benchmark. */
const SERVERS = {
  backend: { name: 'ours, in a whole backend', file: './backend' },
  routes: { name: 'ours, routes alone', file: './routes' },
  plain: { name: 'express + pg', file: './plain' },
  shares: { name: 'ours, with shares as a condition', file: './routes' },
};

/** The groups of the caller. */
const GROUPS = Array.from({ length: 10 }, (_, n) => `group:default/team-${n}`);

/** One of the servers, on its own copy of the data, and the load on it. */
class MockupServer {
  readonly name: string;
  readonly isOurs: boolean;
  readonly database: string;
  readonly #server: ServerProcess;
  readonly #load: LoadGenerator;
  readonly #complete: (request: LoadRequest) => LoadRequest;

  static async start(
    kind: keyof typeof SERVERS,
    context: BenchmarkContext,
    template: string,
  ): Promise<MockupServer> {
    const {
      postgres,
      connection,
      settings: { concurrency },
    } = context;
    const database = `${template}_${kind}`;
    await copyDatabase(postgres, template, database);

    const server = await ServerProcess.start(
      require.resolve(SERVERS[kind].file),
      {
        connection: { ...connection, database },
        ...(kind === 'shares' && { sharedWith: GROUPS }),
      },
    );
    return new MockupServer({
      kind,
      database,
      server,
      load: new LoadGenerator({ url: server.url, concurrency }),
      complete: kind === 'backend' ? await asGuest(server.url) : r => r,
    });
  }

  private constructor(options: {
    kind: keyof typeof SERVERS;
    database: string;
    server: ServerProcess;
    load: LoadGenerator;
    complete: (request: LoadRequest) => LoadRequest;
  }) {
    this.name = SERVERS[options.kind].name;
    this.isOurs = options.kind !== 'plain';
    this.database = options.database;
    this.#server = options.server;
    this.#load = options.load;
    this.#complete = options.complete;
  }

  /** Makes the server a contestant in answering such requests. */
  answering(nextRequest: () => LoadRequest, name = this.name): Contestant {
    return {
      name,
      measure: seconds =>
        this.#load.run(seconds, () => this.#complete(nextRequest())),
    };
  }

  /** Sends one request, and returns the parsed response. */
  async send(request: LoadRequest): Promise<Record<string, unknown>> {
    return JSON.parse(await this.#load.send(this.#complete(request)));
  }

  async stop(): Promise<void> {
    await this.#load.close();
    await this.#server.stop();
  }
}

const FULL: Size = {
  mockups: 10_000,
  versionsPerMockup: 10,
  growth: [1, 10, 100, 1_000, 10_000],
};
const SHORT: Size = {
  mockups: 500,
  versionsPerMockup: 10,
  growth: [1, 10, 100, 1_000],
};

const THROUGHPUT_TARGET = 0.7;

// As good as none, given how much rounds differ by themselves.
const GROWTH_TARGET = 0.9;

/** Saving and reading mockups over HTTP, against a plain express + pg handler. */
export const mockupBenchmark: Benchmark = {
  name: 'mockup',
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { postgres, progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  const template = 'mockups';

  progress(
    `${size.mockups} mockups with ${size.versionsPerMockup} versions each`,
  );
  const seeded = await createDatabase(postgres, template, size);

  const all = Object.values(SERVERS).map(({ name }) => name);
  progress(`starting ${all.join('; ')}`);
  const [backend, routes, plain, shares] = await startTogether(
    (['backend', 'routes', 'plain', 'shares'] as const).map(kind =>
      MockupServer.start(kind, context, template),
    ),
  );
  try {
    // Before the writes, which make the copies of the data differ.
    const lists = await compareLists(context, shares, routes);
    const measured = await measure(context, [backend, routes, plain], seeded);
    return { ...measured, comparisons: [...measured.comparisons, lists] };
  } finally {
    await Promise.all(
      [backend, routes, plain, shares].map(server => server.stop()),
    );
  }
}

/**
 * Compares a list of what the caller owns or a group of theirs may read with a list without
 * conditions, which is the same one.
 */
async function compareLists(
  { progress, settings }: BenchmarkContext,
  shares: MockupServer,
  routes: MockupServer,
): Promise<Comparison> {
  const what = 'list mockups';
  progress(what);
  await assertSameAnswers([shares, routes], listMockups());
  const [ours, alternative] = [shares, routes].map(server =>
    server.answering(listMockups),
  );
  const [withShares, without] = await measureInTurn(
    [ours, alternative],
    settings,
  );
  return compare({
    what,
    ours: { name: ours.name, rounds: withShares },
    alternative: { name: alternative.name, rounds: without },
  });
}

async function measure(
  context: BenchmarkContext,
  servers: MockupServer[],
  { ids, growth }: Seeded,
): Promise<BenchmarkResult> {
  const read = () => readMockup(pick(ids));
  const save = () => saveVersion(pick(ids));

  await assertSameAnswers(servers, read());
  const notes = await describeStatements(context.postgres, servers, {
    read,
    save,
  });
  const { rounds, seconds, concurrency } = context.settings;
  return {
    circumstances: `${rounds} rounds of ${seconds} s, ${concurrency} requests at a time`,
    comparisons: [
      ...(await compareServers(context, 'read a mockup', servers, read)),
      ...(await compareServers(context, 'save a version', servers, save)),
      ...(await compareGrowth(context, servers[1], growth)),
    ],
    notes,
  };
}

/** Compares ours, with Backstage around it and without, with the plain handler. */
async function compareServers(
  { progress, settings }: BenchmarkContext,
  what: string,
  servers: MockupServer[],
  nextRequest: () => LoadRequest,
): Promise<Comparison[]> {
  progress(what);
  const contestants = servers.map(server => server.answering(nextRequest));
  const measured = await measureInTurn(contestants, settings);
  const [backend, routes, plain] = contestants.map(({ name }, index) => ({
    name,
    rounds: measured[index],
  }));
  return [
    { ours: routes, target: THROUGHPUT_TARGET },
    // Backstage's share of the work is not ours to make cheaper.
    { ours: backend },
  ].map(({ ours, target }) =>
    compare({ what, ours, alternative: plain, target }),
  );
}

/** Compares a mockup of many versions with one that has a single one. */
async function compareGrowth(
  { progress, settings }: BenchmarkContext,
  server: MockupServer,
  growth: Map<number, string>,
): Promise<Comparison[]> {
  const what = 'read the newest of many';
  progress(what);
  const contestants = Array.from(growth, ([versions, id]) =>
    server.answering(
      () => readMockup(id),
      `of ${versions.toLocaleString('en')} version${versions > 1 ? 's' : ''}`,
    ),
  );
  const measured = await measureInTurn(contestants, settings);
  const [single, ...others] = contestants.map(({ name }, index) => ({
    name,
    rounds: measured[index],
  }));
  return others.map(ours =>
    compare({ what, ours, alternative: single, target: GROWTH_TARGET }),
  );
}

/** Addresses requests to the plugin within a backend, signed in as its guest. */
async function asGuest(url: string) {
  const authorization = `Bearer ${await tokenOfGuest(url)}`;

  return ({ path, headers, ...rest }: LoadRequest): LoadRequest => ({
    ...rest,
    path: `/api/mockup${path}`,
    headers: { ...headers, authorization },
  });
}

/**
 * Makes sure that all servers do the same work: for the same mockup they must
 * answer the same.
 *
 * @throws Error that names the server that answers otherwise
 */
export async function assertSameAnswers(
  servers: MockupServer[],
  request: LoadRequest,
): Promise<void> {
  const [reference, ...others] = servers;
  const expected = await reference.send(request);
  for (const server of others) {
    const answer = await server.send(request);
    if (!isDeepStrictEqual(answer, expected)) {
      throw new Error(
        `"${server.name}" and "${reference.name}" differ: ` +
          `${JSON.stringify(answer)}, ${JSON.stringify(expected)}`,
      );
    }
  }
}

const SAMPLES = 20;

/**
 * Says how many statements each server sends per request.
 *
 * @throws Error if ours needs more than one
 */
async function describeStatements(
  postgres: Postgres,
  servers: MockupServer[],
  requests: Record<string, () => LoadRequest>,
): Promise<string[]> {
  return await withKnex(postgres, 'postgres', async knex => {
    const notes: string[] = [];
    for (const [what, nextRequest] of Object.entries(requests)) {
      const counts: string[] = [];
      for (const server of servers) {
        const total = await countStatements(knex, server.database, async () => {
          for (let sample = 0; sample < SAMPLES; sample++) {
            await server.send(nextRequest());
          }
        });
        const perRequest = total / SAMPLES;
        if (server.isOurs && perRequest !== 1) {
          throw new Error(`${what}, ${server.name}: ${perRequest} statements`);
        }
        counts.push(`${server.name} ${perRequest}`);
      }
      notes.push(`Statements per ${what}: ${counts.join('; ')}`);
    }
    return notes;
  });
}

const ITEMS_PER_LAYOUT = 50;
const DIFFERENT_LAYOUTS = 20;

const COMPONENTS = ['Button', 'Table', 'TextField', 'Card', 'Chart'];

/** Layouts as an editor would save them: 50 items, about 9 kB of JSON each. */
export const LAYOUTS: LayoutItem[][] = Array.from(
  { length: DIFFERENT_LAYOUTS },
  (_layout, number) =>
    Array.from({ length: ITEMS_PER_LAYOUT }, (_item, index) =>
      createItem(index, number),
    ),
);

function createItem(index: number, layout: number): LayoutItem {
  return {
    i: `item-${layout}-${index}`,
    x: (index % 4) * 3,
    y: Math.floor(index / 4) * 2,
    w: 3,
    h: 2,
    component: COMPONENTS[(index + layout) % COMPONENTS.length],
    props: {
      label: `Field ${index} of page ${layout}`,
      variant: index % 2 ? 'outlined' : 'contained',
      options: { dense: index % 3 === 0, columns: ['id', 'name', 'owner'] },
    },
  };
}

// Written out beforehand, so that the load generator has next to nothing to do.
const BODIES = LAYOUTS.map((layoutData, number) =>
  JSON.stringify({ layoutData, versionTag: `tag ${number}` }),
);

/** Reads a mockup with its latest version. */
export function readMockup(id: string): LoadRequest {
  return { method: 'GET', path: `/mockups/${id}` };
}

/** Reads the first page of all mockups. */
export function listMockups(): LoadRequest {
  return { method: 'GET', path: '/mockups' };
}

/** Saves a version with 50 items. */
export function saveVersion(id: string): LoadRequest {
  return {
    method: 'POST',
    path: `/mockups/${id}/versions`,
    headers: { 'content-type': 'application/json' },
    body: pick(BODIES),
  };
}

/** Any of the values, each as often as the others. */
export function pick<T>(values: T[]): T {
  return values[Math.floor(Math.random() * values.length)];
}

/** How much there is in a database. */
export interface Size {
  mockups: number;
  versionsPerMockup: number;
  /** How many versions each of some further mockups has. */
  growth: number[];
}

/** The ids of the mockups in a database and in every copy of it. */
interface Seeded {
  ids: string[];
  /** Those of the further mockups, by their number of versions. */
  growth: Map<number, string>;
}

const GROWTH_NAME = 'Versions: ';

// A third each is the caller's, another's who lets a group read it, and another's who lets a
// group change it.
const INSERT_MOCKUPS = `
  insert into mockups (name, description, owner, readers, writers, created_at, updated_at)
  select 'Mockup ' || number,
    'Draft ' || number || ' of the page on which customers of the shop look through '
      || 'what is in their basket, before they choose how to pay',
    case number % 3 when 0 then :user else 'user:default/other' end,
    case number % 3 when 1 then array['group:default/team-' || number % 10]
      else '{}' end,
    case number % 3 when 2 then array['group:default/team-' || number % 10]
      else '{}' end,
    timestamp '2025-01-01', timestamp '2025-06-01' + number * interval '1 second'
  from generate_series(1, :count) number`;

const INSERT_GROWTH = `
  insert into mockups (name, description, owner, created_at, updated_at)
  select '${GROWTH_NAME}' || number, 'Has many versions', :user,
    timestamp '2025-01-01', timestamp '2025-06-01'
  from unnest(cast(:counts as integer[])) number`;

// Ordered by time and not by mockup: saved in the course of time, the versions
// of a mockup do not lie side by side.
const INSERT_VERSIONS = `
  with layouts as materialized (
    select ordinality - 1 as number, cast(layout as jsonb) as layout
      from unnest(cast(:layouts as text[])) with ordinality as texts (layout)
  ),
  saved as (
    select mockups.id, number
      from mockups
     cross join lateral generate_series(1,
       case when name like '${GROWTH_NAME}%'
         then substr(name, ${GROWTH_NAME.length + 1})::integer
         else :versionsPerMockup end) number
     order by number, mockups.id
  )
  insert into mockup_versions
    (mockup_id, version_tag, layout_data, created_by, created_at)
  select id, 'v' || saved.number, layout, :user,
    timestamp '2025-01-01' + saved.number * interval '1 second'
  from saved
  join layouts on layouts.number = saved.number % ${LAYOUTS.length}`;

/** Creates a database with the plugin's own tables, and fills it. */
export async function createDatabase(
  postgres: Postgres,
  database: string,
  size: Size,
): Promise<Seeded> {
  await withKnex(postgres, 'postgres', knex =>
    knex.raw('create database ??', [database]),
  );
  return await withKnex(postgres, database, async knex => {
    await knex.migrate.latest({
      directory: resolvePackagePath(
        'backstage-plugin-mockup-backend',
        'migrations',
      ),
    });
    await knex.raw(INSERT_MOCKUPS, { count: size.mockups, user: USER });
    await knex.raw(INSERT_GROWTH, { counts: size.growth, user: USER });
    await knex.raw(INSERT_VERSIONS, {
      layouts: LAYOUTS.map(layout => JSON.stringify(layout)),
      versionsPerMockup: size.versionsPerMockup,
      user: USER,
    });
    await knex.raw('vacuum (analyze) mockups, mockup_versions');
    return await readIds(knex);
  });
}

/** Copies a database, so that a server has the same data to itself. */
async function copyDatabase(
  postgres: Postgres,
  database: string,
  copy: string,
): Promise<void> {
  await withKnex(postgres, 'postgres', knex =>
    knex.raw('create database ?? template ??', [copy, database]),
  );
}

async function readIds(knex: Knex): Promise<Seeded> {
  const rows = await knex('mockups').select('id', 'name');
  const isGrowth = ({ name }: { name: string }) => name.startsWith(GROWTH_NAME);
  return {
    ids: rows.filter(row => !isGrowth(row)).map(({ id }) => id),
    growth: new Map(
      rows
        .filter(isGrowth)
        .map(({ id, name }) => [Number(name.slice(GROWTH_NAME.length)), id]),
    ),
  };
}
