import { stringifyEntityRef } from '@backstage/catalog-model';
import { component } from '@internal/catalog-testing/entities';
import request from 'supertest';
import { memoryStore } from '../__testUtils__/memoryStore';
import { routesOf } from '../__testUtils__/routesOf';
import { PART_SIZE } from './readInParts';

const PATH = '/entities/by-query';

describe('long pages', () => {
  const entities = Array.from({ length: 2 * PART_SIZE + 500 }, (_, index) =>
    component(String(index).padStart(6, '0')),
  );
  const store = memoryStore(entities);
  const app = routesOf(store);

  beforeEach(() => store.readPage.mockClear());

  const get = async (query: Record<string, unknown>) => {
    const { status, body } = await request(app).get(PATH).query(query);
    expect(status).toBe(200);
    return body;
  };
  const limits = () => store.readPage.mock.calls.map(([, { limit }]) => limit);

  it.each([
    ['by their ids', {}],
    ['by a field', { orderField: 'metadata.name,asc' }],
  ])('are read in parts, and lead to others: %s', async (_, order) => {
    const limit = 2 * PART_SIZE + 100;
    const page = await get({ ...order, limit });
    expect(limits()).toEqual([PART_SIZE, PART_SIZE, 101]);
    expect(page.items).toEqual(entities.slice(0, limit));
    expect(page.totalItems).toBe(entities.length);
    expect(page.pageInfo.prevCursor).toBeUndefined();

    const { nextCursor } = page.pageInfo;
    const next = await get({ cursor: nextCursor, limit });
    expect(next.items).toEqual(entities.slice(limit));
    expect(next.totalItems).toBe(entities.length);
    expect(next.pageInfo.nextCursor).toBeUndefined();

    const { prevCursor } = next.pageInfo;
    const previous = await get({ cursor: prevCursor, limit });
    expect(previous.items).toEqual(entities.slice(limit - PART_SIZE, limit));
    expect(previous.pageInfo.nextCursor).toBeDefined();
    expect(previous.pageInfo.prevCursor).toBeDefined();
  });

  it.each([
    ['that ends with a part', PART_SIZE, [PART_SIZE, 1], true],
    ['of all there are', entities.length, [PART_SIZE, PART_SIZE, 501], false],
    ['beyond all there are', 9e6, [PART_SIZE, PART_SIZE, PART_SIZE], false],
  ])('%s have what they ask for', async (_, limit, parts, hasNext) => {
    const page = await get({ limit });
    expect(limits()).toEqual(parts);
    expect(page.items).toEqual(entities.slice(0, limit));
    expect('nextCursor' in page.pageInfo).toBe(hasNext);
  });

  it('have the fields that are asked for, of each part', async () => {
    const page = await get({ limit: 9e6, fields: 'metadata.name' });
    expect(page.items).toEqual(
      entities.map(({ metadata: { name } }) => ({ metadata: { name } })),
    );
  });

  it('begin at the offset, once', async () => {
    const page = await get({ limit: PART_SIZE + 1, offset: 3 });
    expect(page.items.map(stringifyEntityRef)).toEqual(
      entities.slice(3, PART_SIZE + 4).map(stringifyEntityRef),
    );
  });
});
