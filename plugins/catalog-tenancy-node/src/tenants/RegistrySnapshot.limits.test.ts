import {
  createTestDatabases,
  eventually,
  waitUntil,
} from '@internal/postgres/testUtils';
import { mockLogger } from '../__testUtils__/serviceMocks';
import { TenantLimits } from '../pool/TenantLimits';
import type { TenancyPool } from '../pool/TenancyPool';
import { RegistrySnapshot } from './RegistrySnapshot';
import { Registry } from './__testUtils__/registry';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())(
  'what a process knows of the limits of tenants on %s',
  id => {
    let registry: Registry;
    let limits: TenantLimits;
    const open: (() => Promise<void>)[] = [];

    beforeAll(async () => {
      registry = await Registry.create(databases, id);
    });
    afterAll(() => registry.database.close());
    beforeEach(async () => {
      await registry.empty();
      limits = new TenantLimits();
    });
    afterEach(async () => {
      await Promise.all(open.splice(0).map(close => close()));
    });

    /** A process, and whether it hears; only that tells it of changes, unless it is deaf. */
    function start(options: { deaf?: boolean; pool?: TenancyPool } = {}) {
      const { deaf, pool = registry.database.pool } = options;
      const logger = mockLogger();
      const snapshot = new RegistrySnapshot({
        pool,
        logger,
        timing: {
          pollMs: 3_600_000,
          pollWithoutListeningMs: deaf ? 10 : 3_600_000,
        },
      });
      open.push(() => snapshot.close());
      return { snapshot, logger };
    }

    const hearing = async () => {
      const { snapshot } = start();
      snapshot.follow(limits);
      await waitUntil('the process to hear', async () => snapshot.isListening);
    };

    it('is the last of many changes in a row', async () => {
      const { tenant_id } = await registry.createTenant('acme');
      await hearing();
      for (let concurrency = 1; concurrency <= 20; concurrency += 1) {
        await registry.store.update('acme', { concurrency });
      }
      await eventually(async () =>
        expect(limits.of(tenant_id)).toEqual({ concurrency: 20 }),
      );
    });

    it('stays while the registry cannot be read, which is said once', async () => {
      const { tenant_id } = await registry.createTenant('acme');
      const { pool } = registry.database;
      let fails = true;
      let asked = 0;
      const query = jest.fn((...args: Parameters<TenancyPool['query']>) => {
        asked += 1;
        return fails
          ? Promise.reject(new Error('no answer'))
          : pool.query(...args);
      });
      const { snapshot, logger } = start({
        deaf: true,
        pool: { ...pool, query } as unknown as TenancyPool,
      });
      limits.set(tenant_id, { concurrency: 1 });
      await snapshot.stopListening();
      snapshot.follow(limits);
      await waitUntil('several attempts', async () => asked > 2);
      expect(limits.of(tenant_id)).toEqual({ concurrency: 1 });
      expect(logger.warn).toHaveBeenCalledTimes(1);
      fails = false;
      await eventually(async () =>
        expect(limits.of(tenant_id)).toBeUndefined(),
      );
    });
  },
);
