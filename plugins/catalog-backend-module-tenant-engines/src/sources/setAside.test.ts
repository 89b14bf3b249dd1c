import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { freePort } from '@internal/postgres';
import { createTestDatabases, eventually } from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { Client, type ClientConfig, type QueryResultRow } from 'pg';
import { BackendProcess, CALLER_TOKEN } from '../__testUtils__/BackendProcess';
import { ENDLESS, LETHAL } from '../__testUtils__/lethalReader';
import { componentYaml, SourceServer } from '../__testUtils__/SourceServer';
import { EngineStatusStore } from '../status/EngineStatusStore';
import { SET_ASIDE } from './ReadsUnderWay';

const databases = createTestDatabases({ versions: 'newest' });

const TENANTS = ['acme', 'globex'];

describe.each(databases.eachSupportedId())(
  'a location with which the process dies, on %s',
  id => {
    let connection: ClientConfig;
    let client: Client;
    let status: EngineStatusStore;
    let baseUrl: string;
    let source: SourceServer;
    let backend: BackendProcess;
    const tenantIds = new Map<string, string>();

    const query = async <Row extends QueryResultRow>(
      text: string,
      values: unknown[] = [],
    ) => (await client.query<Row>(text, values)).rows;

    beforeAll(async () => {
      connection = await createTenancyDatabase(databases, id);
      client = new Client(connection);
      await client.connect();
      status = new EngineStatusStore({ connection, schema: 'tenancy' });
      source = await new SourceServer().listen();
      baseUrl = `http://127.0.0.1:${await freePort()}`;
      for (const slug of TENANTS) {
        const [row] = await query<{ id: string }>(
          `insert into tenancy.tenants (tenant_slug, tenant_name) values ($1, $1) returning tenant_id as id`,
          [slug],
        );
        tenantIds.set(slug, row.id);
        await query(
          `insert into tenancy.tenant_engines (tenant_id, created_by) values ($1, 'test')`,
          [row.id],
        );
      }
      start();
    });

    afterAll(async () => {
      await backend?.kill();
      await source?.stop();
      await status?.close();
      await client?.end();
    });

    function start() {
      backend = BackendProcess.start({
        baseUrl,
        connection,
        source: source.host,
        tenancy: { engines: { leaseSeconds: 10, sources: { timeout: '10m' } } },
        config: { lethalReader: true },
      });
    }

    /** 0 where nothing listens. */
    const call = (slug: string, path: string, body?: object) =>
      fetch(`${baseUrl}/api/catalog${path}`, {
        method: body ? 'POST' : 'GET',
        body: body && JSON.stringify(body),
        headers: {
          Authorization: `Bearer ${CALLER_TOKEN}`,
          'Content-Type': 'application/json',
          'X-Tenant-Slug': slug,
        },
      }).then(
        response => response.status,
        () => 0,
      );

    async function register(slug: string, name: string, text: string) {
      const target = source.put(`/${slug}-${name}.yaml`, text);
      await backend.until(
        `the engine of ${slug}`,
        async () =>
          (await call(slug, '/locations', { type: 'url', target })) === 201,
      );
      return target;
    }

    const untilServed = (slug: string, name: string) =>
      backend.until(
        `${name} of ${slug}`,
        async () =>
          (await call(slug, `/entities/by-name/component/default/${name}`)) ===
          200,
      );

    const refresh = (entityRef: string) =>
      call('acme', '/refresh', { entityRef });

    const sourceErrors = async () =>
      (await status.report(tenantIds.get('acme')!)).source_errors!;

    /** How often the process died while each location was read, by its target. */
    const deaths = async (slug: string) => {
      const schema = engineSchemaOf(tenantIds.get(slug)!);
      const rows = await query<{ target: string; deaths: number }>(
        `select s.unprocessed_entity::json -> 'spec' ->> 'target' as target, r.deaths
           from "${schema}".tenancy_reads_under_way r
           join "${schema}".refresh_state s using (entity_ref)`,
      );
      return Object.fromEntries(rows.map(row => [row.target, row.deaths]));
    };

    let lethal: string;

    it('is no longer noted once it has been read', async () => {
      for (const slug of TENANTS) {
        await register(slug, 'before', componentYaml('before'));
        await untilServed(slug, 'before');
        await eventually(async () => expect(await deaths(slug)).toEqual({}));
      }
    });

    it('ends the process twice', async () => {
      lethal = await register('acme', 'lethal', componentYaml('lethal'));
      await untilServed('acme', 'lethal');
      source.put('/acme-lethal.yaml', `${LETHAL}\n`);
      await eventually(async () => {
        await refresh('component:default/lethal');
        expect(backend.hasEnded).toBe(true);
      });
      start();
      expect(await backend.closed).toEqual([null, 'SIGKILL']);
    });

    it('is set aside, while everything else is served', async () => {
      start();
      await backend.until('the error at the location', async () =>
        (await sourceErrors()).some(({ message }) => message === SET_ASIDE),
      );
      expect(await sourceErrors()).toEqual([
        expect.objectContaining({ location: lethal, message: SET_ASIDE }),
      ]);
      await untilServed('globex', 'before');
      await untilServed('acme', 'before');
      // What it has brought before.
      await untilServed('acme', 'lethal');
      await register('acme', 'after', componentYaml('after'));
      await untilServed('acme', 'after');
      backend.throwIfEnded();
      expect(await deaths('acme')).toMatchObject({ [lethal]: 2 });
    });

    it('is read again after a refresh of what came from it', async () => {
      source.put('/acme-lethal.yaml', componentYaml('harmless'));
      expect(await refresh('component:default/nothing')).toBe(404);
      expect(await refresh('component:default/before')).toBe(200);
      expect(await deaths('acme')).toMatchObject({ [lethal]: 2 });
      const entityRef = 'Component:default/lethal';
      expect(await call('acme', '/Refresh/', { entityRef })).toBe(200);
      await untilServed('acme', 'harmless');
      expect(await sourceErrors()).toEqual([]);
    });

    it('is not noted as one by a process that ends in order', async () => {
      const target = await register('acme', 'endless', ENDLESS);
      await backend.until(
        'a read that does not end',
        async () => (await deaths('acme'))[target] === 0,
      );
      await backend.stop();
      expect(await deaths('acme')).toEqual({});
    });
  },
);
