import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import {
  catalogProcessingExtensionPoint,
  type EntityProvider,
} from '@backstage/plugin-catalog-node';
import { waitUntil } from '@internal/postgres/testUtils';
import { setImmediate } from 'node:timers/promises';
import { BackgroundWork } from '../work/BackgroundWork';
import { MemberEntities } from './MemberEntities';
import { MembersOfTenants } from './MembersOfTenants';

/** The provider that the engine of a tenant gets. */
async function providerOf({ feature }: MemberEntities) {
  let provider!: EntityProvider;
  const backend = await startTestBackend({
    features: [feature],
    extensionPoints: [
      [
        catalogProcessingExtensionPoint,
        {
          addEntityProvider: (added: EntityProvider) => {
            provider = added;
          },
        } as typeof catalogProcessingExtensionPoint.T,
      ],
    ],
  });
  return { provider, backend };
}

const CONNECTION = {
  applyMutation: async () => undefined,
  refresh: async () => undefined,
};

function openWork() {
  const work = new BackgroundWork({
    tenantSlug: 'acme',
    holdsLease: () => true,
  });
  work.open();
  return work;
}

describe('the provider of members', () => {
  it('tries again less and less often while it fails, and as at first after a success', async () => {
    const work = openWork();
    let attempts = 0;
    let isDown = true;
    const members = new MemberEntities({
      work,
      read: async () => {
        attempts += 1;
        if (isDown) {
          throw new Error('The database is not available');
        }
        return [];
      },
      ownersOf: async () => new Map(),
      logger: mockServices.logger.mock(),
    });
    const { backend, provider } = await providerOf(members);
    jest.useFakeTimers();
    const attemptsWithin = async (ms: number) => {
      const before = attempts;
      await jest.advanceTimersByTimeAsync(ms);
      return attempts - before;
    };
    try {
      await provider.connect(CONNECTION);
      expect(attempts).toBe(1);
      // After 5, 15, 35 and 75 seconds.
      expect(await attemptsWithin(80_000)).toBe(4);
      // Each 5 minutes in the end.
      await attemptsWithin(600_000);
      expect(await attemptsWithin(900_000)).toBe(3);

      isDown = false;
      await attemptsWithin(300_000);
      expect(members.isBusy).toBe(false);
      isDown = true;
      members.refresh();
      expect(await attemptsWithin(6_000)).toBe(1);
    } finally {
      members.close();
      jest.useRealTimers();
      await backend.stop();
    }
  });

  it('reads a few tenants at a time, whatever all are to look at', async () => {
    const tenants = ['a', 'b', 'c', 'd', 'e'];
    let onChange = () => undefined as void;
    let reads = 0;
    let underWay = 0;
    let atOnce = 0;
    const all = new MembersOfTenants({
      changes: {
        onChange: (listener: () => void) => {
          onChange = listener;
        },
      } as never,
      database: { query: async () => [] },
      logger: mockServices.logger.mock(),
      pool: { query: async () => [] },
      sources: {
        members: {
          list: async () => {
            underWay += 1;
            atOnce = Math.max(atOnce, underWay);
            await setImmediate();
            underWay -= 1;
            reads += 1;
            return { items: [], totalItems: 0 };
          },
        },
        store: {
          getEntitiesByRefs: async () => [],
          queryEntities: async () => [],
        },
      },
    });
    const backends: { stop(): Promise<void> }[] = [];
    try {
      for (const tenantId of tenants) {
        const { backend, provider } = await providerOf(
          all.open(
            { tenantId, tenantSlug: tenantId },
            { work: openWork(), logger: mockServices.logger.mock() },
          ),
        );
        backends.push(backend);
        await provider.connect(CONNECTION);
      }
      await waitUntil('the first reads', () => reads === tenants.length);
      atOnce = 0;
      onChange();
      await waitUntil('the next reads', () => reads === 2 * tenants.length);
      expect(atOnce).toBe(2);
    } finally {
      all.stop();
      await Promise.all(backends.map(backend => backend.stop()));
    }
  });
});
