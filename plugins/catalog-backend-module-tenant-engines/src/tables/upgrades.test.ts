import { mockServices } from '@backstage/backend-test-utils';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { freePort } from '@internal/postgres';
import {
  createTestDatabases,
  waitUntil,
  withClient,
  withDeadline,
} from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import { randomUUID } from 'node:crypto';
import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig, Pool, type QueryResultRow } from 'pg';
import { BackendProcess, CALLER_TOKEN } from '../__testUtils__/BackendProcess';
import { READS_TABLE } from '../sources/ReadsUnderWay';
import { EngineStatusStore } from '../status/EngineStatusStore';
import { BackgroundWork } from '../work/BackgroundWork';
import { EnginePool } from '../work/EnginePool';
import { openEngineDatabase } from '../work/openEngineDatabase';
import { inventory } from './__testUtils__/inventory';
import { migrationsFolder } from './__testUtils__/migrationsFolder';
import { EngineTables } from './EngineTables';
import { fillEngine } from './__testUtils__/fillEngine';

jest.setTimeout(3_600_000);

const TENANTS = 8;
const ENTITIES = 5;
const WRITERS = 2;
const READERS = 2;
/** Of a writer or reader between two statements, at most. */
const PAUSE_MS = 100;

// The newest of upstream's: it removes rows, and creates indexes with CONCURRENTLY.
const MIGRATION = '20260510000000_search_indices_and_dedup.js';
const INDEX = 'search_entity_key_value_idx';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())(
  "tenants' catalog tables of an earlier release, on %s",
  id => {
    let connection: ClientConfig;
    let pool: Pool;
    const backends: BackendProcess[] = [];
    const older = migrationsFolder({ before: MIGRATION });
    const logger = mockServices.logger.mock();

    beforeEach(async () => {
      connection = await createTenancyDatabase(databases, id);
      pool = new Pool({
        ...connection,
        max: WRITERS + READERS + 2,
        // A session keeps the plans of each tenant's triggers, and looks at all of them for each
        // table that others change. Those of engines end before they have many.
        maxUses: 100,
      });
      pool.on('error', () => undefined);
      logger.info.mockClear();
    });

    afterEach(async () => {
      await Promise.all(backends.splice(0).map(each => each.kill()));
      await pool.end();
    });

    async function query<Row extends QueryResultRow>(
      text: string,
      values: unknown[] = [],
    ): Promise<Row[]> {
      return (await pool.query<Row>(text, values)).rows;
    }

    async function use<T>(work: (client: Client) => Promise<T>): Promise<T> {
      return withClient(connection, work);
    }

    const tablesOf = (migrationsDirectory?: string) =>
      EngineTables.create({
        connection,
        schema: 'tenancy',
        logger,
        ...(migrationsDirectory && { migrationsDirectory }),
      });

    const structureOf = async (schema: string) => {
      const { indexes, constraints, statistics, columns } = await inventory(
        { use },
        schema,
      );
      // An engine makes this table when it first reads a location.
      const without = (rows: unknown[]) =>
        rows.filter(row => !String(row).includes(READS_TABLE));
      return [indexes, constraints, statistics, columns].map(without);
    };

    /** Those of adoption: what upstream has of its own belongs to each schema. */
    const triggersOf = async (schema: string) =>
      query(
        `select c.relname as table, t.tgname as name, t.tgenabled as enabled, t.tgfoid::regproc::text as function
           from pg_trigger t join pg_class c on c.oid = t.tgrelid
          where c.relnamespace = $1::regnamespace and t.tgname like 'tenancy_adoption%'
          order by 1, 2`,
        [schema],
      );

    /** The status of an answer, of a connection that a busy process can't have closed meanwhile. */
    const readEntity = (baseUrl: string, slug: string) =>
      new Promise<number | undefined>((resolve, reject) =>
        get(
          `${baseUrl}/api/catalog/entities/by-name/component/default/e1`,
          {
            agent: false,
            headers: {
              Authorization: `Bearer ${CALLER_TOKEN}`,
              'X-Tenant-Slug': slug,
            },
          },
          answer => {
            answer.resume();
            answer.on('end', () => resolve(answer.statusCode));
          },
        ).on('error', reject),
      );

    /** Tenants that have an engine, with tables of the earlier release and entities in them. */
    async function olderTenants(count: number): Promise<ActiveTenant[]> {
      const tenants = Array.from({ length: count }, (_, nr) => ({
        tenantId: randomUUID(),
        tenantSlug: `tenant-${nr}`,
      }));
      await query(
        `insert into tenancy.tenants (tenant_id, tenant_slug, tenant_name)
         select id, slug, slug from unnest($1::uuid[], $2::text[]) as t (id, slug)`,
        [
          tenants.map(({ tenantId }) => tenantId),
          tenants.map(({ tenantSlug }) => tenantSlug),
        ],
      );
      await query(
        `insert into tenancy.tenant_engines (tenant_id, created_by) select tenant_id, 'test' from tenancy.tenants
          where tenant_id = any ($1)`,
        [tenants.map(({ tenantId }) => tenantId)],
      );
      const tables = tablesOf(older);
      for (const { tenantId } of tenants) {
        await tables.provision(tenantId);
        await seed(tenantId);
      }
      return tenants;
    }

    /** Entities that no engine has a reason to touch: nothing is due, and none is an orphan. */
    async function seed(tenantId: string): Promise<void> {
      const schema = engineSchemaOf(tenantId);
      await query(
        fillEngine(schema, {
          terms: `select id, 'kind', 'component', 'Component' from e, generate_series(1, 2)`,
          spec: `jsonb_build_object('change', 0)`,
        }),
        [tenantId, ENTITIES],
      );
    }

    const countCurrent = async () => {
      const [{ count }] = await query<{ count: number }>(
        `select count(*)::int as count from pg_class
          where relname = $1 and relnamespace::regnamespace::text like 'tenant_%'`,
        [INDEX],
      );
      return count;
    };

    const breakTables = (tenantId: string) =>
      query(
        `alter table ${engineSchemaOf(
          tenantId,
        )}.search rename column original_value to not_what_it_was`,
      );

    const mendTables = (tenantId: string) =>
      query(
        `alter table ${engineSchemaOf(
          tenantId,
        )}.search rename column not_what_it_was to original_value`,
      );

    /** What a tenant's answers are made from. */
    const changesOf = async (tenantId: string) => {
      const read = async (table: string, condition: string) =>
        Object.fromEntries(
          (
            await query<{ ref: string; change: number }>(
              `select entity_ref as ref, (final_entity::jsonb #>> '{spec,change}')::int as change
                 from ${table} where ${condition}`,
            )
          ).map(({ ref, change }) => [ref, change]),
        );
      return {
        engine: await read(
          `${engineSchemaOf(tenantId)}.final_entities`,
          'true',
        ),
        tenant: await read(
          'tenancy.entities',
          `tenant_id = '${tenantId}' and deleted_at is null`,
        ),
      };
    };

    it('are upgraded one by one, say so, and one that fails fails alone', async () => {
      const [first, broken, last] = await olderTenants(3);
      await breakTables(broken.tenantId);
      const tables = tablesOf();
      const order: string[] = [];
      const { provision, upgrade } = tables;
      jest.spyOn(tables, 'provision').mockImplementation(async tenantId => {
        const found = await provision.call(tables, tenantId);
        if (tenantId !== first.tenantId) {
          await waitUntil('the first', () => order.length > 0);
        }
        return found;
      });
      jest
        .spyOn(tables, 'upgrade')
        .mockImplementation(async (tenantId, options) => {
          order.push(`begin ${tenantId}`);
          await upgrade
            .call(tables, tenantId, options)
            .finally(() => order.push(`end ${tenantId}`));
        });
      const { signal } = new AbortController();
      const ready = (tenant: ActiveTenant) => tables.ready(tenant, signal);
      const all = [first, broken, last].map(ready);
      const outcomes = Promise.allSettled(all);
      await waitUntil('the first', () => order.length > 0);
      // A request waits for it.
      tables.hurry(last.tenantId);
      expect(await outcomes).toEqual([
        { status: 'fulfilled', value: undefined },
        {
          status: 'rejected',
          reason: expect.objectContaining({
            message: expect.stringMatching(
              new RegExp(
                `${MIGRATION} of the catalog failed: column .*does not exist`,
              ),
            ),
          }),
        },
        { status: 'fulfilled', value: undefined },
      ]);
      expect(order).toEqual(
        [first, last, broken].flatMap(({ tenantId }) => [
          `begin ${tenantId}`,
          `end ${tenantId}`,
        ]),
      );
      expect(logger.info.mock.calls.flat()).toEqual(
        [first, last].map(
          ({ tenantSlug }) => `Upgraded the catalog tables of '${tenantSlug}'`,
        ),
      );
      await mendTables(broken.tenantId);
      await ready(broken);
      expect(await countCurrent()).toBe(3);
    });

    it('delay neither reports on other engines nor their work while they are upgraded', async () => {
      const [upgraded, other] = await olderTenants(2);
      let goOn = () => {};
      const gate = {
        begun: false,
        open: new Promise<void>(resolve => {
          goOn = resolve;
        }),
      };
      Object.assign(globalThis, { gate });
      const tables = tablesOf(
        migrationsFolder({
          further: {
            '20990101000000_long.js': {
              up: 'gate.begun = true; await gate.open;',
            },
          },
        }),
      );
      const status = new EngineStatusStore({
        connection,
        schema: 'tenancy',
      });
      const ids = [upgraded, other].map(({ tenantId }) => tenantId);
      const engines = new EnginePool({ connection, max: 4, logger });
      const opened = ids.map(tenantId => {
        const work = new BackgroundWork({
          tenantSlug: 'one',
          holdsLease: () => true,
        });
        work.open();
        const onIdle = () => undefined;
        return openEngineDatabase(engines, { tenantId, work, onIdle });
      });
      /** As the plugin looks for work. */
      const poll = () =>
        Promise.all(
          opened.flatMap(({ knex }) =>
            ['refresh_state.next_update_at', 'stitch_queue.next_stitch_at'].map(
              column =>
                knex(column.split('.')[0])
                  .where(column, '<=', knex.fn.now())
                  .forUpdate()
                  .skipLocked(),
            ),
          ),
        );
      expect((await poll()).flat()).toEqual([]);
      const polls = poll();
      await waitUntil('the engines to sleep', () =>
        opened.every(({ hibernation }) => hibernation.dueInMs(0) !== undefined),
      );
      const upgrade = tables.upgrade(upgraded.tenantId);
      try {
        await waitUntil('the migration', () => gate.begun);
        await query(
          `update ${engineSchemaOf(other.tenantId)}.refresh_state
              set next_update_at = now()`,
        );
        await expect(
          withDeadline('the look', status.readDue(ids)),
        ).resolves.toEqual(new Map([[other.tenantId, expect.any(Date)]]));
        const reports = await withDeadline(
          'the reports',
          Promise.all(ids.map(each => status.report(each))),
        );
        expect(reports.map(({ lag_seconds }) => lag_seconds)).toEqual([
          null,
          expect.any(Number),
        ]);
      } finally {
        goOn();
        await upgrade;
        opened.forEach(each => each.close());
        await polls;
        await engines.close();
        await status.close();
      }
    });

    it('are upgraded under load by two backends, of which one is killed twice', async () => {
      const tenants = await olderTenants(TENANTS);
      const broken = tenants[Math.floor(Math.random() * TENANTS)];
      await breakTables(broken.tenantId);
      const load = startLoad(tenants);
      const tables = tablesOf();
      const other = await start();
      load.requestFrom(other.baseUrl);
      // At random moments, at which some are done and others are not.
      const moments = [1, 2].map(part =>
        Math.floor((TENANTS * (part - Math.random())) / 3),
      );
      for (const moment of moments) {
        const { backend } = await start();
        await backend.until(
          `${moment} tenants to be upgraded`,
          async () => (await countCurrent()) >= moment,
        );
        await backend.kill();
      }
      const { backend: survivor, baseUrl } = await start();
      await survivor.until(
        'all tenants but one to be upgraded',
        async () => (await countCurrent()) === TENANTS - 1,
      );
      other.backend.throwIfEnded();
      const target = 'https://example.com/catalog-info.yaml';
      const register = (slug: string) =>
        fetch(`${baseUrl}/api/catalog/locations?dryRun=true`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${CALLER_TOKEN}`,
            'Content-Type': 'application/json',
            'X-Tenant-Slug': slug,
          },
          body: JSON.stringify({ type: 'url', target }),
        });
      await survivor.until('the last backend to answer', () =>
        register(broken.tenantSlug).catch(() => undefined),
      );
      await survivor.until('the failure', async () => {
        const answer = await register(broken.tenantSlug);
        const text = await answer.text();
        return (
          answer.status === 503 &&
          text.includes(`${MIGRATION} of the catalog failed: column`)
        );
      });
      const changes = await load.stop();
      expect(await readEntity(baseUrl, broken.tenantSlug)).toBe(200);

      await mendTables(broken.tenantId);
      await survivor.until(
        'the tables that were mended to be upgraded',
        async () => (await countCurrent()) === TENANTS,
      );
      const made = randomUUID();
      await tables.provision(made);
      const newest = await structureOf(engineSchemaOf(made));
      const triggers = await triggersOf(engineSchemaOf(tenants[0].tenantId));
      expect(triggers).toHaveLength(11);
      for (const { tenantId } of tenants) {
        const schema = engineSchemaOf(tenantId);
        expect(await structureOf(schema)).toEqual(newest);
        expect(await triggersOf(schema)).toEqual(triggers);
        const expected = changes.get(tenantId);
        expect(await changesOf(tenantId)).toEqual({
          engine: expected,
          tenant: expected,
        });
      }
      expect(await query('select from tenancy.adoption_faults')).toEqual([]);
    });

    /**
     * What engines, their readers and the people of tenants do, one after the other for each
     * worker.
     */
    function startLoad(tenants: ActiveTenant[]) {
      const refs = Array.from(
        { length: ENTITIES },
        (_, index) => `component:default/e${index + 1}`,
      );
      const changes = new Map(
        tenants.map(({ tenantId }) => [
          tenantId,
          Object.fromEntries(refs.map(ref => [ref, 0])),
        ]),
      );
      const refusals: (number | undefined)[] = [];
      let isOver = false;
      const pick = <T>(all: T[]) => all[Math.floor(Math.random() * all.length)];
      const worker = async (once: () => Promise<unknown>) => {
        while (!isOver) {
          await once();
          await delay(Math.random() * PAUSE_MS);
        }
      };
      let next = 0;
      // One writer for each tenant: the order of the changes is known.
      const write = (nr: number) => async () => {
        const { tenantId } = pick(
          tenants.filter((_, index) => index % WRITERS === nr),
        );
        const ref = pick(refs);
        next += 1;
        const change = next;
        await query(
          `update ${engineSchemaOf(tenantId)}.final_entities
              set final_entity = jsonb_set(final_entity::jsonb, '{spec,change}', to_jsonb($2::int))::text
            where entity_ref = $1`,
          [ref, change],
        );
        changes.get(tenantId)![ref] = change;
      };
      const read = async () => {
        const schema = engineSchemaOf(pick(tenants).tenantId);
        await query(
          `select f.entity_ref from ${schema}.final_entities f
             join ${schema}.search s on s.entity_id = f.entity_id
            where s.key = 'kind' and s.value = 'component'`,
        );
      };
      const workers: Promise<void>[] = [];
      const add = (work: Promise<void>) => {
        // Its failure is that of the test, once it stops the load.
        work.catch(() => undefined);
        workers.push(work);
      };
      for (let nr = 0; nr < WRITERS; nr += 1) {
        add(worker(write(nr)));
      }
      for (let nr = 0; nr < READERS; nr += 1) {
        add(worker(read));
      }
      const requestFrom = async (baseUrl: string) => {
        const statusOfOne = () => readEntity(baseUrl, pick(tenants).tenantSlug);
        const isUp = async () => (await statusOfOne()) === 200;
        const end = () => isOver || isUp().catch(() => false);
        await waitUntil('a backend to answer', end);
        await worker(async () => {
          const status = await statusOfOne();
          if (status !== 200) {
            refusals.push(status);
          }
        });
      };
      return {
        /** One that runs from now on. */
        requestFrom: (baseUrl: string) => add(requestFrom(baseUrl)),
        /** The changes that were written. */
        async stop() {
          isOver = true;
          await Promise.all(workers);
          expect(refusals).toEqual([]);
          return changes;
        },
      };
    }

    async function start() {
      const baseUrl = `http://127.0.0.1:${await freePort()}`;
      const backend = BackendProcess.start({ baseUrl, connection });
      backends.push(backend);
      return { backend, baseUrl };
    }
  },
);
