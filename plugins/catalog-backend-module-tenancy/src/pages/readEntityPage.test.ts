import { InputError } from '@backstage/errors';
import { component } from '@internal/catalog-testing/entities';
import { memoryStore } from '../__testUtils__/memoryStore';
import type { EntityCursor } from './EntityCursor';
import { type PageRequest, readEntityPage } from './readEntityPage';

const ID = '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11';

const NAMES = ['a', 'b', 'c', 'd', 'e'];

const first: PageRequest = { countItems: true };

describe('readEntityPage', () => {
  let store: ReturnType<typeof memoryStore>;

  beforeEach(() => {
    store = memoryStore(NAMES.map(name => component(name)));
  });

  const read = async (request: PageRequest) => {
    const { items, ...page } = await readEntityPage(store, 'acme', request);
    const names = items.map(json => JSON.parse(json).metadata.name).join('');
    return { names, ...page };
  };

  const asked = async (request: PageRequest) => {
    await readEntityPage(store, 'acme', request);
    return store.readPage.mock.lastCall?.[1];
  };

  it('reads one entity more than it shows, to know whether there is another page', async () => {
    expect(await asked({ ...first, limit: 5 })).toMatchObject({ limit: 6 });
    expect(await asked(first)).toMatchObject({ limit: 201 });
    const page = await read({ ...first, limit: 5 });
    expect(page).toEqual({ names: 'abcde', totalItems: 5 });
  });

  it('gives cursors with the keys of the stock catalog, in their order', async () => {
    const query = { kind: 'component' };
    const { nextCursor } = await read({ ...first, query, limit: 2 });
    expect(JSON.stringify(nextCursor)).toBe(
      JSON.stringify({
        orderFields: [],
        isPrevious: false,
        query,
        orderFieldValues: ['component:default/b'],
        firstSortFieldValues: ['component:default/a'],
        totalItems: 5,
      }),
    );
    const ordered = await read({
      ...first,
      limit: 1,
      orderFields: [{ field: 'metadata.name', order: 'asc' }],
      fullTextFilter: { term: 'x' },
    });
    expect(ordered.nextCursor?.orderFieldValues).toEqual([
      'a',
      'component:default/a',
    ]);
    expect(JSON.stringify(ordered.nextCursor)).toMatch(
      /^\{"orderFields":.*"isPrevious":.*"fullTextFilter":.*"orderFieldValues"/,
    );
  });

  it('goes on behind a page, and counts once', async () => {
    const { nextCursor } = await read({ ...first, limit: 2 });
    store.readPage.mockClear();
    const cursor = { ...nextCursor!, orderFieldValues: [ID] };
    expect(await asked({ cursor, limit: 2 })).toEqual({
      limit: 3,
      after: { entityId: ID },
      backwards: false,
      total: false,
    });
  });

  it('goes back to the page before, and no further than the first', async () => {
    const cursor: EntityCursor = {
      orderFields: [{ field: 'metadata.name', order: 'desc' }],
      isPrevious: true,
      orderFieldValues: ['c', ID],
      firstSortFieldValues: ['a', 'component:default/a'],
      totalItems: 5,
    };
    store.readPage.mockResolvedValueOnce({
      rows: ['c', 'b'].map(name => ({
        json: JSON.stringify(component(name)),
        entityId: `component:default/${name}`,
        value: name,
      })),
    });
    const middle = await read({ cursor, limit: 2 });
    expect(store.readPage).toHaveBeenCalledWith('acme', {
      order: { field: 'metadata.name', order: 'desc' },
      limit: 2,
      after: { value: 'c', entityId: ID },
      backwards: true,
      total: false,
    });
    expect(middle).toMatchObject({
      names: 'bc',
      totalItems: 5,
      prevCursor: {
        isPrevious: true,
        orderFieldValues: ['b', expect.any(String)],
      },
      nextCursor: {
        isPrevious: false,
        orderFieldValues: ['c', expect.any(String)],
      },
    });
    store.readPage.mockResolvedValueOnce({
      rows: [
        {
          json: JSON.stringify(component('a')),
          entityId: 'component:default/a',
          value: 'a',
        },
      ],
    });
    const beginning = await read({ cursor, limit: 2 });
    expect(beginning.prevCursor).toBeUndefined();
    expect(beginning.nextCursor).toBeDefined();
  });

  it('shows no entity by a limit of 0, but counts them', async () => {
    expect(await read({ ...first, limit: 0 })).toEqual({
      names: '',
      totalItems: 5,
    });
  });

  it('counts only where that is asked for', async () => {
    expect(await read({ countItems: false, limit: 1 })).toMatchObject({
      totalItems: 0,
    });
    expect(await asked({ countItems: false })).toMatchObject({ total: false });
  });

  it('joins the filter of an earlier cursor with its query', async () => {
    const cursor: EntityCursor = {
      orderFields: [],
      isPrevious: false,
      orderFieldValues: [],
      filter: { key: 'kind', values: ['api'] },
      query: { 'spec.type': 'x' },
    };
    expect(await asked({ cursor })).toMatchObject({
      filter: { $all: [{ kind: 'api' }, { 'spec.type': 'x' }] },
      after: undefined,
    });
  });

  it.each([
    [['zzz'], { entityId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }],
    [[null], { entityId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }],
    [['a', 'b', 'c'], undefined],
  ])('has a page for the place %j of a cursor', async (place, after) => {
    const cursor: EntityCursor = {
      orderFields: [],
      isPrevious: false,
      orderFieldValues: place,
    };
    expect((await asked({ cursor }))?.after).toEqual(after);
  });

  it('has a page for places without an id, or without a value, in an order', async () => {
    const cursor: EntityCursor = {
      orderFields: [{ field: 'kind', order: 'asc' }],
      isPrevious: false,
      orderFieldValues: ['a', null],
    };
    const after = async (change: Partial<EntityCursor>) =>
      (await asked({ cursor: { ...cursor, ...change } }))?.after;
    expect(await after({})).toEqual({
      value: 'a',
      entityId: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    });
    expect(await after({ isPrevious: true })).toEqual({
      value: 'a',
      entityId: '00000000-0000-0000-0000-000000000000',
    });
    expect(await after({ orderFieldValues: [null, ID] })).toEqual({
      value: null,
      entityId: ID,
    });
  });

  it('refuses the place of an order where there is none', async () => {
    const cursor = {
      orderFields: [],
      isPrevious: false,
      orderFieldValues: ['a', ID],
    };
    await expect(read({ cursor })).rejects.toThrow(InputError);
  });

  it('shows nothing where reading is denied, whatever the cursor says', async () => {
    const cursor: EntityCursor = {
      orderFields: [],
      isPrevious: true,
      orderFieldValues: [ID],
      firstSortFieldValues: [ID],
      totalItems: 5,
    };
    const page = await readEntityPage(
      { ...store, readPage: async () => undefined },
      'acme',
      { cursor },
    );
    expect(page).toEqual({ items: [], totalItems: 0 });
  });
});
