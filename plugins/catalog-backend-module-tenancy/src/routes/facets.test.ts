import { withDeadline } from '@internal/postgres/testUtils';
import type { FacetsQuery } from 'backstage-plugin-catalog-tenancy-node';
import express, { type Response } from 'express';
import { once } from 'node:events';
import { get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import request from 'supertest';
import { memoryStore } from '../__testUtils__/memoryStore';
import { routesOf } from '../__testUtils__/routesOf';

describe('facets', () => {
  let valuesOfKey: number;
  const closed: Promise<unknown>[] = [];
  const countFacets = jest.fn(async (_: string, { facets }: FacetsQuery) => {
    const counts = Array.from({ length: valuesOfKey }, (_each, index) => ({
      value: `value ${index}`,
      count: 1,
    }));
    return Object.fromEntries(facets.map(facet => [facet, counts]));
  });

  const app = express()
    .use((_req, res: Response, next) => {
      closed.push(once(res, 'close'));
      next();
    })
    .use(routesOf({ ...memoryStore([]), countFacets }));

  beforeEach(() => {
    countFacets.mockClear();
    closed.length = 0;
  });

  it('are read a few keys at a time, each once, however it is spelt', async () => {
    valuesOfKey = 1_500;
    const keys = Array.from({ length: 12 }, (_, index) => `spec.key-${index}`);
    const facets = keys.flatMap(key => [key, key.toUpperCase(), key]);
    const { body, status } = await request(app)
      .post('/entity-facets')
      .send({ facets });
    expect(status).toBe(200);
    expect(Object.keys(body.facets).sort()).toEqual(
      [...new Set(facets)].sort(),
    );
    for (const counts of Object.values<unknown[]>(body.facets)) {
      expect(counts).toHaveLength(valuesOfKey);
      expect(counts[1_000]).toEqual({ value: 'value 1000', count: 1 });
    }
    const asked = countFacets.mock.calls.map(([, query]) => [
      ...new Set(query.facets.map(each => each.toLowerCase())),
    ]);
    expect(asked.map(({ length }) => length)).toEqual([5, 5, 2]);
    expect(asked.flat().sort()).toEqual([...keys].sort());
  });

  it('are read no further for a client that has gone', async () => {
    valuesOfKey = 50_000;
    const facets = Array.from({ length: 100 }, (_, i) => `facet=key-${i}`);
    const server: Server = app.listen(0);
    try {
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const response = await withDeadline(
        'the response',
        new Promise<NodeJS.EventEmitter & { destroy(): void }>(
          (resolve, reject) => {
            get(
              { port, path: `/entity-facets?${facets.join('&')}` },
              resolve,
            ).once('error', reject);
          },
        ),
      );
      response.on('error', () => undefined);
      response.destroy();
      await withDeadline('the end', Promise.all(closed));
      // A hundred keys would be twenty reads.
      expect(countFacets.mock.calls.length).toBeLessThan(20);
    } finally {
      server.close();
    }
  });
});
