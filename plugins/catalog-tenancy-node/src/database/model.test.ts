import { createTestDatabases, Random } from '@internal/postgres/testUtils';
import { Pool } from 'pg';
import { createTenancyDatabase } from '../__testUtils__/tenancyDatabase';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import type { Entities } from './__testUtils__/model/steps';
import { TenantActor } from './__testUtils__/model/TenantActor';
import { PoolWatch } from './__testUtils__/PoolWatch';
import { WireProxy } from './__testUtils__/WireProxy';
import { PooledTenantDatabase } from './PooledTenantDatabase';

/**
 * On the newest PostgreSQL: isolation.test.ts has the policies and settings on each, and
 * statements.test.ts what is sent. For the real thing:
 *
 *     TENANCY_MODEL_OPERATIONS=20000 npm test -- plugins/catalog-tenancy-node/src/database/model
 */
const OPERATIONS = Number(process.env.TENANCY_MODEL_OPERATIONS ?? 2_000);
const SEED = Number(process.env.TENANCY_MODEL_SEED ?? Date.now() % 1e6);
const TENANTS = 8;
const WORKERS = 4;
const POOL_SIZES = [1, 2, 3];

// Of how many operations one meets a fault of each kind, on average.
const CUTS = 0.04;
const CANCELS = 0.1;
const TERMINATIONS = 0.01;

const databases = createTestDatabases({ versions: 'newest', citus: true });

describe.each(databases.eachSupportedId())('Tenants on %s', id => {
  let database: TenancyDatabase;
  let proxy: WireProxy;
  let superuser: Pool;
  let watch: PoolWatch;
  let doubts = 0;
  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
    proxy = await WireProxy.start(database.appConnection);
    superuser = new Pool({
      ...database.connection,
      options: '-c search_path=tenancy',
    });
    superuser.on('error', () => undefined);
    watch = PoolWatch.start();
  });
  afterAll(async () => {
    watch.stop();
    await database.close();
    await superuser.end();
    await proxy.close();
  });

  async function readTruth(tenant: string): Promise<Entities> {
    await proxy.settled();
    const { rows } = await superuser.query(
      'select entity_name, hash from entities where tenant_id = $1',
      [tenant],
    );
    return new Map(rows.map(row => [row.entity_name, row.hash]));
  }

  async function interfere(random: Random): Promise<void> {
    if (!proxy.armed && random.chance(CUTS)) {
      proxy.cutAt({
        side: random.pick(['frontend', 'backend']),
        message: 1 + random.below(30),
        when: random.pick(['before', 'within', 'after']),
      });
    }
    const signal =
      (random.chance(CANCELS) && 'pg_cancel_backend') ||
      (random.chance(TERMINATIONS) && 'pg_terminate_backend');
    if (signal) {
      await superuser.query(
        `select ${signal}(pid) from pg_stat_activity
          where usename = 'portal_app' and datname = current_database()
          order by random() limit 1`,
      );
    }
  }

  it.each(POOL_SIZES)(
    `see nothing of each other on a pool of %d, whatever happens (seed ${SEED})`,
    async max => {
      const pool = database.createPool({
        connection: proxy.connection,
        limits: { max },
      });
      const tenants: string[] = [];
      while (tenants.length < TENANTS) {
        tenants.push(await database.createTenant());
      }
      const actors = tenants.map(
        (tenant, index) =>
          new TenantActor({
            tenant,
            otherTenants: tenants.filter(other => other !== tenant),
            database: new PooledTenantDatabase(pool),
            random: new Random(SEED + 100 * max + index),
            readTruth,
          }),
      );

      let left = Math.ceil(OPERATIONS / POOL_SIZES.length);
      const work = async (worker: number) => {
        const random = new Random(SEED + 100 * max + TENANTS + worker);
        const own = actors.filter((_, index) => index % WORKERS === worker);
        while (left > 0) {
          left -= 1;
          const interference = interfere(random);
          await random.pick(own).act();
          await interference;
        }
      };
      await Promise.all([...Array(WORKERS).keys()].map(work));

      proxy.cutAt(undefined);
      await watch.answered();
      for (const actor of actors) {
        await actor.compare();
        expect(actor.tally.succeeded).toBeGreaterThan(0);
        expect(actor.tally.failedAsExpected).toBeGreaterThan(0);
        doubts += actor.tally.inDoubt;
      }
      await pool.close();
      await proxy.quiet();
    },
    // As long as it takes.
    60_000 + OPERATIONS * 20,
  );

  it('never gave back a connection with a tenant, or within a transaction', () => {
    expect(watch.givenBack.length).toBeGreaterThan(OPERATIONS / 2);
    expect(watch.closed).toBeGreaterThan(0);
    // Or no fault has come at a bad moment.
    expect(doubts).toBeGreaterThan(0);
    expect(
      watch.givenBack.filter(
        ({ status, tenant, role }) =>
          status !== 'I' || (tenant ?? '') !== '' || role !== 'none',
      ),
    ).toEqual([]);
  });
});
