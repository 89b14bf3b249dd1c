import { mockServices } from '@backstage/backend-test-utils';
import type { Entity } from '@backstage/catalog-model';
import { waitUntil } from '@internal/postgres/testUtils';
import type { ActiveShare } from 'backstage-plugin-catalog-tenancy-node';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { SharedEntities, type ShareTiming } from './SharedEntities';

const MB = 1_000_000;
const RECEIVER = '5c1f0b6e-65a7-4f4f-8d55-1f3b1f7c4b11';

const entities = (count: number, characters: number): Entity[] =>
  Array.from({ length: count }, (_, i) => ({
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'API',
    metadata: { name: `api-${i}`, namespace: 'default' },
    spec: { definition: 'x'.repeat(characters) },
  }));

const shareOf = (shareId: string): ActiveShare => ({
  shareId,
  source: { tenantId: 'source', tenantSlug: 'source' },
  targetIds: null,
  filter: {},
  owner: null,
  version: shareId,
});

describe('shares with many entities', () => {
  let applied: number;
  let looks: number;
  let asked: number;
  /** How long the database takes for the version of a source. */
  let takesMs = 0;
  let shared: SharedEntities;

  const start = (
    shareIds: string[],
    read: () => Entity[],
    {
      receivers = [RECEIVER],
      ...timing
    }: Partial<ShareTiming> & { receivers?: string[] } = {},
  ) => {
    applied = 0;
    looks = 0;
    asked = 0;
    shared = SharedEntities.start({
      asleepSince: () => undefined,
      catalog: { queryEntities: async () => read() },
      database: {
        query: async <T>() => {
          asked += 1;
          await delay(takesMs);
          return [{ version: '1' }] as T[];
        },
      },
      logger: mockServices.logger.mock(),
      engines: {
        isRunning: id => id === RECEIVER,
        start: async id => id === RECEIVER || new Promise(() => {}),
        apply: async () => {
          applied += 1;
        },
      },
      pool: {
        // The engine has got them.
        query: async <T>(sql: string, [refs]: unknown[]) =>
          (sql.includes('is_own') && applied > 0
            ? (refs as string[]).map(ref => ({ ref, is_own: true }))
            : []) as T[],
      },
      receivers: () => [...receivers],
      shares: {
        listActive: async () => {
          looks += 1;
          return shareIds.map(shareOf);
        },
      },
      status: {
        readCopies: async () => new Map(),
        writeCopies: async () => undefined,
      },
      timing: { lookMs: 20, ownMs: 0, ...timing },
    });
    return waitUntil('the copies', () => applied > 0);
  };

  afterEach(async () => {
    takesMs = 0;
    await shared.stop();
  });

  it('are not copied again at each look at them', async () => {
    let copied = 0;
    const watched = {
      ...entities(1, 1)[0],
      get spec() {
        copied += 1;
        return {};
      },
    };
    await start(['1'], () => [watched]);
    const once = copied;
    const before = looks;
    await waitUntil('some looks', () => looks > before + 5);
    expect(copied).toBe(once);
  });

  it('have a source that is not looked at each time where that takes long', async () => {
    takesMs = 300;
    await start(['1'], () => entities(1, 1));
    const before = looks;
    await waitUntil('some looks', () => looks > before + 5);
    expect(asked).toBe(1);
  });

  it('reach a tenant beside many whose engines do not start', async () => {
    const slow = Array.from({ length: 20 }, () => randomUUID());
    await start(['1'], () => entities(1, 1), {
      receivers: [...slow, RECEIVER],
      patienceMs: 10,
    });
    expect(applied).toBe(1);
  });

  it('keep each entity of a source once, however many of them have it', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    const used = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = used();
    await start(
      Array.from({ length: 50 }, (_, i) => `share-${i}`),
      // As the store reads them, objects of their own each time.
      () => JSON.parse(JSON.stringify(entities(300, 30_000))),
    );
    expect(used() - before).toBeLessThan(60 * MB);
  });
});
