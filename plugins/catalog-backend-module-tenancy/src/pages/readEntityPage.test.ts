import { InputError } from '@backstage/errors';
import { component } from '@internal/catalog-testing/entities';
import { memoryStore } from '../__testUtils__/memoryStore';
import type { EntityCursor } from './EntityCursor';
import { type PageRequest, readEntityPage } from './readEntityPage';

const ID = '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11';

const NAMES = ['a', 'b', 'c', 'd', 'e'];

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
});
