import { startCatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { freePort } from '@internal/postgres';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { Client, type ClientConfig, type QueryResultRow } from 'pg';
import { BackendProcess, CALLER_TOKEN } from '../__testUtils__/BackendProcess';
import { componentYaml, SourceServer } from '../__testUtils__/SourceServer';
import { READS_TABLE } from '../sources/ReadsUnderWay';
import { inventory } from '../tables/__testUtils__/inventory';

const databases = createTestDatabases({ versions: 'newest' });

// More than twice as many as start at once: some wait for their turn, and some of those are
// done before the last ones begin.
const TENANTS = Number(process.env.ENGINE_KILLS_TENANTS ?? 9);
/** Of the tenants, how many are in the midst of it when the rest is done: fewer than start at once. */
const HELD = 3;

describe.each(databases.eachSupportedId())(
  'a backend that is killed while it makes the tables of tenants, on %s',
  id => {
    let connection: ClientConfig;
    let baseUrl: string;
    let source: SourceServer;
    let backend: BackendProcess | undefined;
    /** By slug. */
    const tenantIds = new Map<string, string>();

    beforeAll(async () => {
      connection = await createTenancyDatabase(databases, id);
      source = await SourceServer.start();
      await createTenants();
      baseUrl = `http://127.0.0.1:${await freePort()}`;
    });

    afterAll(async () => {
      await backend?.kill();
      await source?.stop();
    });

    /** By a backend that has no engines. */
    async function createTenants(): Promise<void> {
      const registry = await startCatalogBackend({ connection, enabled: true });
      for (let i = 0; i < TENANTS; i += 1) {
        // Engines start in the order of slugs.
        const slug = `tenant-${String(i).padStart(2, '0')}`;
        const { tenant_id } = await registry.tenants.create({
          tenant_slug: slug,
          tenant_name: slug,
        });
        tenantIds.set(slug, tenant_id);
      }
      await registry.stop();
    }

    function start(): BackendProcess {
      backend = BackendProcess.start({
        baseUrl,
        connection,
        source: source.host,
      });
      return backend;
    }

    async function use<T>(work: (client: Client) => Promise<T>): Promise<T> {
      const client = new Client(connection);
      await client.connect();
      try {
        return await work(client);
      } finally {
        await client.end();
      }
    }

    const query = <Row extends QueryResultRow>(
      text: string,
      values: unknown[] = [],
    ) => use(async client => (await client.query<Row>(text, values)).rows);

    /** The schemas of tenants. */
    async function schemas(): Promise<string[]> {
      const rows = await query<{ name: string }>(
        `select nspname as name from pg_namespace where nspname like 'tenant\\_%' order by 1`,
      );
      return rows.map(({ name }) => name);
    }

    /** The sessions that make tables, and how many of them wait for a lock. */
    async function sessions() {
      const [{ open, waiting }] = await query<{
        open: number;
        waiting: number;
      }>(
        `select count(*)::int as open,
                (count(*) filter (where wait_event_type = 'Lock'))::int as waiting
           from pg_stat_activity
          where datname = current_database()
            and application_name = 'catalog tenant engines: tables'`,
      );
      return { open, waiting };
    }

    /** After PostgreSQL has noticed that the backend is gone. */
    const untilRolledBack = () =>
      waitUntil(
        'the sessions of the killed backend to end',
        async () => (await sessions()).open === 0,
      );

    /** 0 where nothing listens yet. */
    const status = (path: string, init: RequestInit = {}) =>
      fetch(`${baseUrl}${path}`, init).then(
        response => response.status,
        () => 0,
      );

    const call = (slug: string, path: string, init: RequestInit = {}) =>
      status(`/api/catalog${path}`, {
        ...init,
        headers: {
          Authorization: `Bearer ${CALLER_TOKEN}`,
          'Content-Type': 'application/json',
          'X-Tenant-Slug': slug,
        },
      });

    /** What keeps the tables of a tenant and its adoption going. */
    const adoptionOf = async (schema: string, tenantId: string) => ({
      triggers: await query(
        `select c.relname as table, t.tgname as name, t.tgenabled as enabled, t.tgtype as type
           from pg_trigger t
           join pg_class c on c.oid = t.tgrelid
           join pg_namespace n on n.oid = c.relnamespace
          where n.nspname = $1 and not t.tgisinternal
          order by 1, 2`,
        [schema],
      ),
      state: (
        await query<{ key: string; value: unknown }>(
          `select key, value from tenancy.adoption_state where tenant_id = $1 order by key`,
          [tenantId],
        )
      ).map(row => JSON.stringify(row).replaceAll(schema, '<schema>')),
    });

    // Each of these has a backend of its own, which begins where the one before was killed.

    it('is killed while it makes the first tables', async () => {
      await start().until(
        'the first tables to be begun',
        async () => (await sessions()).open > 0,
      );
      await backend?.kill();
      expect(await call('tenant-00', '/locations')).toBe(0);
    });

    it('is killed while three tenants are in the midst of it and the others are done', async () => {
      // These wait in their transactions, with tables and triggers made: their state of
      // the adoption is what this one has inserted.
      await use(async holder => {
        const held = [...tenantIds.values()].slice(-HELD);
        await holder.query('begin');
        await holder.query(
          `insert into tenancy.adoption_state (tenant_id, key, value)
           select id, 'engine', 'null' from unnest($1::uuid[]) as id`,
          [held],
        );
        await start().until(
          'the others to have tables, and three to wait',
          async () =>
            (await schemas()).length === TENANTS - HELD &&
            (await sessions()).waiting === HELD,
        );
        await backend?.kill();
        await holder.query('rollback');
      });
      await untilRolledBack();
      const made = [...tenantIds.values()].slice(0, -HELD).map(engineSchemaOf);
      expect(await schemas()).toEqual(made.sort());
    });

    it('is killed as soon as all tenants have tables', async () => {
      await start().until(
        'all tenants to have tables',
        async () => (await schemas()).length === TENANTS,
      );
      await backend?.kill();
      expect(await call('tenant-00', '/locations')).toBe(0);
    });

    it('serves all tenants after the next start, and nothing is half made', async () => {
      const survivor = start();
      await survivor.until(
        'the backend to be ready',
        async () => (await status('/.backstage/health/v1/readiness')) === 200,
      );
      for (const slug of tenantIds.keys()) {
        const target = source.put(`/${slug}.yaml`, componentYaml(slug));
        const body = JSON.stringify({ type: 'url', target });
        await survivor.until(
          `the engine of ${slug}`,
          async () =>
            (await call(slug, '/locations', { method: 'POST', body })) === 201,
        );
      }
      for (const slug of tenantIds.keys()) {
        await survivor.until(
          `the entity of ${slug}`,
          async () =>
            (await call(
              slug,
              `/entities/by-name/component/default/${slug}`,
            )) === 200,
        );
      }

      const all = [...tenantIds.values()].map(engineSchemaOf);
      expect(await schemas()).toEqual(all.sort());
      const [first] = tenantIds.values();
      const definitions = await definitionsOf(engineSchemaOf(first));
      const adoption = await adoptionOf(engineSchemaOf(first), first);
      expect(adoption.triggers).not.toEqual([]);
      expect(adoption.state.join()).toContain('"done":true');
      for (const tenantId of tenantIds.values()) {
        const schema = engineSchemaOf(tenantId);
        expect(await definitionsOf(schema)).toEqual(definitions);
        expect(await adoptionOf(schema, tenantId)).toEqual(adoption);
      }
      const faults = await query('select from tenancy.adoption_faults');
      expect(faults).toEqual([]);
    });

    /** All that upstream's tables consist of, but for triggers, rights and what rows change. */
    async function definitionsOf(schema: string) {
      const found = await inventory({ use }, schema);
      return Object.entries(found)
        .filter(
          ([what]) => what !== 'relations' && !what.startsWith('rows of '),
        )
        .map(([what, rows]) => [
          what,
          rows
            .map(row => String(row).replace(/"last_value":\w+,/, ''))
            .filter(row => !row.includes(READS_TABLE))
            .sort(),
        ]);
    }
  },
);
