import {
  mockCredentials,
  mockErrorHandler,
} from '@backstage/backend-test-utils';
import {
  assignTenant,
  TenantLimits,
  type TenantSource,
} from 'backstage-plugin-catalog-tenancy-node';
import express from 'express';
import request from 'supertest';
import {
  classifiedPlugin,
  startGatedBackend,
} from '../gate/__testUtils__/startGatedBackend';
import { InMemoryTenants } from '../resolution/__testUtils__/InMemoryTenants';
import { limitRate } from './limitRate';

const DAY = 86_400;

/** Counts for a day at four a second: no test takes longer. */
const BURST = 4 * DAY;

describe('the limits of requests', () => {
  describe('of a backend', () => {
    const start = (limits: Record<string, number>) =>
      startGatedBackend({
        directory: new InMemoryTenants(),
        tenancy: { membership: 'open', limits },
        features: [
          classifiedPlugin('catalog', { tenantAware: true }),
          classifiedPlugin('mockup', { tenantAware: true }),
        ],
      });

    const as = (slug: string) => ({
      authorization: mockCredentials.user.header(),
      'x-tenant-slug': slug,
    });

    it('count for all plugins together, and for each tenant alone', async () => {
      const send = await start({ requestsPerSecond: 4, burst: BURST });
      const left = async (plugin: string, slug: string) => {
        const { status, headers } = await send(`/api/${plugin}`, as(slug));
        expect(status).toBe(200);
        expect(headers['ratelimit-policy']).toMatch(
          new RegExp(`^"tenant"; q=${BURST}; w=${DAY};`),
        );
        return Number(
          /^"tenant"; r=(\d+); t=\d+$/.exec(headers.ratelimit)?.[1],
        );
      };
      expect(await left('catalog', 'acme')).toBe(BURST - 1);
      expect(await left('mockup', 'acme')).toBe(BURST - 2);
      expect(await left('catalog', 'initech')).toBe(BURST - 1);
      expect(await left('catalog', 'acme')).toBe(BURST - 3);
    });
  });

  describe('of a route', () => {
    const own = new TenantLimits();
    afterEach(() => own.replace(new Map()));

    // Two a day.
    const app = express()
      .use((req, _res, next) => {
        const tenantSlug = req.get('x-tenant-slug')!;
        assignTenant(
          req,
          { tenantId: `id of ${tenantSlug}`, tenantSlug },
          req.get('x-source') as TenantSource,
        );
        next();
      })
      .use(limitRate({ requestsPerSecond: 2 / DAY, burst: 2 }, own))
      .get('/', (_req, res) => res.json('answered'))
      .use(mockErrorHandler());

    const send = (slug: string, source = 'header') =>
      request(app).get('/').set({ 'x-tenant-slug': slug, 'x-source': source });

    it('refuse a tenant that has sent too many, and no other', async () => {
      expect((await send('acme')).status).toBe(200);
      expect((await send('acme')).status).toBe(200);
      const refused = await send('acme');
      expect(refused.status).toBe(429);
      expect(Number(refused.get('Retry-After'))).toBeGreaterThan(DAY / 2);
      expect(refused.get('RateLimit')).toMatch(/^"tenant"; r=0; t=\d+$/);
      expect(refused.body.error).toEqual({
        name: 'TooManyRequestsError',
        message:
          'The tenant has sent too many requests: send this one again later',
      });
      expect((await send('initech')).status).toBe(200);
      // What another plugin asks for a request that was counted.
      expect((await send('acme', 'call')).status).toBe(200);
    });

    it('keep no timer for what is no limit of a tenant any more', async () => {
      jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
      try {
        const before = jest.getTimerCount();
        for (let burst = 1; burst <= 3; burst += 1) {
          own.set('id of changed', { rate: { requestsPerSecond: 10, burst } });
          expect((await send('changed')).status).toBe(200);
          jest.advanceTimersByTime(1_000);
        }
        expect(jest.getTimerCount()).toBe(before + 1);
      } finally {
        jest.useRealTimers();
      }
    });

    it('are those of the registry where it has some, and never those of another tenant', async () => {
      const statuses = async (slug: string, count: number) => {
        const found: number[] = [];
        for (let sent = 0; sent < count; sent += 1) {
          found.push((await send(slug)).status);
        }
        return found;
      };
      own.set('id of generous', {
        rate: { requestsPerSecond: 4 / DAY, burst: 4 },
      });
      own.set('id of strict', {
        rate: { requestsPerSecond: 1 / DAY, burst: 1 },
      });
      own.set('id of other', { concurrency: 1 });
      expect(await statuses('generous', 5)).toEqual([200, 200, 200, 200, 429]);
      expect(await statuses('strict', 2)).toEqual([200, 429]);
      expect(await statuses('other', 3)).toEqual([200, 200, 429]);

      // A change is a new count; so is the way back to what is configured for all.
      own.set('id of strict', {
        rate: { requestsPerSecond: 4 / DAY, burst: 4 },
      });
      expect(await statuses('strict', 5)).toEqual([200, 200, 200, 200, 429]);
      expect(await statuses('generous', 1)).toEqual([429]);
      own.set('id of strict', undefined);
      expect(await statuses('strict', 3)).toEqual([200, 200, 429]);
    });
  });
});
