import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import {
  catalogProcessingExtensionPoint,
  type EntityProvider,
} from '@backstage/plugin-catalog-node';
import { BackgroundWork } from '../work/BackgroundWork';
import { MemberEntities } from './MemberEntities';

describe('the provider of members', () => {
  it('tries again less and less often while it fails, and as at first after a success', async () => {
    let provider!: EntityProvider;
    const work = new BackgroundWork({
      tenantSlug: 'acme',
      holdsLease: () => true,
    });
    work.open();
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
    const backend = await startTestBackend({
      features: [members.feature],
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
    jest.useFakeTimers();
    const attemptsWithin = async (ms: number) => {
      const before = attempts;
      await jest.advanceTimersByTimeAsync(ms);
      return attempts - before;
    };
    try {
      await provider.connect({
        applyMutation: async () => undefined,
        refresh: async () => undefined,
      });
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
});
