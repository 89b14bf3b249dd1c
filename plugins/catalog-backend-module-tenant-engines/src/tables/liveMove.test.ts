import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { freePort } from '@internal/postgres';
import { createTestDatabases, withClient } from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { get, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ClientConfig } from 'pg';
import { BackendProcess, CALLER_TOKEN } from '../__testUtils__/BackendProcess';
import { fillEngine } from './__testUtils__/fillEngine';

jest.setTimeout(3_600_000);

// A tenant moves between two deployments whose backends answer requests all the time.

const ENTITIES = 100;
const TERMS = 12;
const PAUSE_MS = 50;

const ROOT = resolve(__dirname, '../../../..');
const CLI = join(
  ROOT,
  'packages/catalog-tenancy-cli/bin/backstage-catalog-tenancy-cli',
);

const databases = createTestDatabases({ versions: 'newest' });

interface Answer {
  /** 0 where the connection was lost. */
  status: number;
  at: number;
  text: string;
}

const headers = {
  Authorization: `Bearer ${CALLER_TOKEN}`,
  'Content-Type': 'application/json',
  'X-Tenant-Slug': 'acme',
};

/** Each has a connection that nothing else uses. */
function answerOf(
  send: (done: (answer: IncomingMessage) => void) => ReturnType<typeof get>,
): Promise<Answer> {
  return new Promise(done => {
    let text = '';
    const end = (status = 0) => done({ status, at: performance.now(), text });
    send(answer => {
      answer.setEncoding('utf8').on('data', chunk => {
        text += chunk;
      });
      answer.on('end', () => end(answer.statusCode));
    }).on('error', () => end());
  });
}

const readFrom = (baseUrl: string) =>
  answerOf(done =>
    get(
      `${baseUrl}/api/catalog/entities/by-name/component/default/e1`,
      { agent: false, headers },
      done,
    ),
  );

const register = (baseUrl: string, target: string) =>
  answerOf(done => {
    const sent = request(
      `${baseUrl}/api/catalog/locations`,
      { agent: false, headers, method: 'POST' },
      done,
    );
    sent.end(JSON.stringify({ type: 'url', target }));
    return sent;
  });

/** What reads and changes the tenant at one deployment. */
class Requests {
  readonly reads: Answer[] = [];
  readonly writes: (Answer & { target: string })[] = [];
  readonly #workers: Promise<void>[];
  #isOver = false;

  constructor(baseUrl: string) {
    this.#workers = [
      this.#repeat(async () => {
        this.reads.push(await readFrom(baseUrl));
      }),
      this.#repeat(async () => {
        const target = `https://example.com/${randomUUID()}/catalog-info.yaml`;
        this.writes.push({ target, ...(await register(baseUrl, target)) });
      }),
    ];
  }

  /** The targets that were acknowledged, in the order of their names. */
  get registered(): string[] {
    return this.#targets(({ status }) => status === 201);
  }

  /** Those that may have been written without an answer that says so. */
  get uncertain(): string[] {
    return this.#targets(
      ({ status, text }) => status === 0 || /may be done in part/.test(text),
    );
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#workers);
  }

  #targets(isWanted: (answer: Answer) => boolean): string[] {
    return this.writes
      .filter(isWanted)
      .map(({ target }) => target)
      .sort();
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      await work();
      await delay(Math.random() * PAUSE_MS);
    }
  }
}

/** The statuses in the order in which they were first given, each once while it lasts. */
const turnsOf = (answers: Answer[]) =>
  answers
    .map(({ status }) => status)
    .filter((status, index, all) => status !== all[index - 1]);

describe.each(databases.eachSupportedId())(
  'a tenant that is in use, on %s',
  id => {
    const backends: BackendProcess[] = [];

    afterEach(() =>
      Promise.all(backends.splice(0).map(backend => backend.kill())),
    );

    async function deploy() {
      const connection = await createTenancyDatabase(databases, id);
      const baseUrl = `http://127.0.0.1:${await freePort()}`;
      const backend = BackendProcess.start({ baseUrl, connection });
      backends.push(backend);
      const query = (text: string, values: unknown[] = []) =>
        withClient(
          connection,
          async client => (await client.query(text, values)).rows,
        );
      return { backend, baseUrl, connection, query };
    }

    type Deployment = Awaited<ReturnType<typeof deploy>>;

    const urlOf = ({ host, port, user, password, database }: ClientConfig) =>
      `postgresql://${user}:${password}@${host}:${port}/${database}`;

    async function addTenant({ backend, query }: Deployment): Promise<string> {
      const [{ tenant_id: tenantId }] = await query(
        `with made as (
           insert into tenancy.tenants (tenant_slug, tenant_name, max_entities)
             values ('acme', 'Acme', 1000000) returning tenant_id)
         insert into tenancy.tenant_engines (tenant_id, created_by) select tenant_id, 'test' from made
         returning tenant_id`,
      );
      const schema = engineSchemaOf(tenantId);
      await backend.until('its tables', async () => {
        const [{ made }] = await query(
          `select to_regclass($1) is not null as made`,
          [`${schema}.final_entities`],
        );
        return made;
      });
      await query(
        fillEngine(schema, {
          terms: `select id, 'spec.key' || k, 'value' || n % 100, 'Value' || n % 100
                    from e, generate_series(1, ${TERMS}) as k`,
          spec: `jsonb_build_object('text', repeat('text ' || n, 40))`,
        }),
        ['e', ENTITIES],
      );
      return tenantId;
    }

    /** What was there before, with a sum of each table: no engine has a reason to change it. */
    async function sumsIn(
      { query }: Deployment,
      tenantId: string,
    ): Promise<object[]> {
      const schema = engineSchemaOf(tenantId);
      const seeded = `(select md5('e' || n)::uuid as id from generate_series(1, ${ENTITIES}) as n)`;
      const tables = {
        entities: `select t::text as r from tenancy.entities t where tenant_id = '${tenantId}' and entity_id in ${seeded}`,
        final_entities: `select t::text as r from ${schema}.final_entities t where entity_id::uuid in ${seeded}`,
        refresh_state: `select t::text as r from ${schema}.refresh_state t where entity_id::uuid in ${seeded}`,
        references: `select source_entity_ref || target_entity_ref as r from ${schema}.refresh_state_references
          where source_entity_ref = 'component:default/e1'`,
        search: `select t::text as r from ${schema}.search t where entity_id::uuid in ${seeded}`,
      };
      const sums: object[] = [];
      for (const [table, rows] of Object.entries(tables)) {
        const [sum] = await query(
          `select '${table}' as table, count(*)::int as rows, sum(hashtextextended(r, 0)) as sum from (${rows}) rows`,
        );
        sums.push(sum);
      }
      return sums;
    }

    const locationsIn = async (
      { query }: Deployment,
      tenantId: string,
    ): Promise<string[]> =>
      (
        await query(
          `select target from ${engineSchemaOf(tenantId)}.locations
            where target like 'https://example.com/%' order by target collate "C"`,
        )
      ).map(({ target }) => target);

    it('moves, and each change that was acknowledged is there once', async () => {
      const from = await deploy();
      const to = await deploy();
      const tenantId = await addTenant(from);
      await from.backend.until(
        'an answer of the source',
        async () => (await readFrom(from.baseUrl)).status === 200,
      );
      await to.backend.until(
        'an answer of the destination',
        async () => (await readFrom(to.baseUrl)).status === 403,
      );
      const here = new Requests(from.baseUrl);
      const there = new Requests(to.baseUrl);
      await from.backend.until(
        'changes under way',
        async () => here.registered.length > 2,
      );
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [CLI, 'tenant', 'move', 'acme'],
        {
          cwd: ROOT,
          env: {
            ...process.env,
            MIGRATION_DATABASE_URL: urlOf(from.connection),
            MIGRATION_TO_URL: urlOf(to.connection),
          },
        },
      );
      await to.backend.until(
        'changes at the destination',
        async () => there.registered.length > 2,
      );
      await Promise.all([here.stop(), there.stop()]);

      expect(stdout).toMatch(/It was read-only for [\d.]+ s\.$/m);
      // Readable up to the end here, and from then on there.
      expect(turnsOf(here.reads)).toEqual([200, 403]);
      expect(turnsOf(there.reads)).toEqual([403, 200]);
      expect(await sumsIn(to, tenantId)).toEqual(await sumsIn(from, tenantId));

      // A change is refused where the tenant is not, or is read-only.
      const uncertain = new Set([...here.uncertain, ...there.uncertain]);
      const without = (targets: string[]) =>
        targets.filter(target => !uncertain.has(target));
      const certain = without(await locationsIn(to, tenantId));
      expect(certain).toEqual([...here.registered, ...there.registered].sort());
      expect(without(await locationsIn(from, tenantId))).toEqual(
        here.registered,
      );
    });
  },
);
