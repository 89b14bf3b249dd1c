import { component } from '@internal/catalog-testing/entities';
import { memoryStore } from '../__testUtils__/memoryStore';
import {
  NUMBERED_PART_SIZE,
  PART_SIZE,
  readAll,
  readInParts,
} from './readInParts';

const number = (index: number) => String(index).padStart(6, '0');
const entities = Array.from({ length: 2 * PART_SIZE + 500 }, (_, index) =>
  component(number(index)),
);

describe('readInParts', () => {
  it('has few parts in the order of a field, each of which is put in order anew', async () => {
    const many = Array.from({ length: NUMBERED_PART_SIZE + 500 }, (_, index) =>
      component(number(index)),
    );
    const store = memoryStore(many);
    const order = [{ field: 'metadata.name', order: 'asc' as const }];
    const read = [];
    for await (const part of readInParts(store, 'acme', { order })) {
      read.push(...part.map(json => JSON.parse(json)));
    }
    expect(read).toEqual(many);
    expect(store.readEntities).toHaveBeenCalledTimes(2);
  });
});

describe.each([readInParts, readAll])('%p', read => {
  it('loses and repeats nothing that others write around meanwhile', async () => {
    const live = [...entities];
    const found = [];
    for await (const part of read(memoryStore(live), 'acme', {})) {
      if (found.length === 0) {
        live.shift();
        live.unshift(component('000000-a'), component('000000-b'));
      }
      found.push(...part.map(json => JSON.parse(json)));
    }
    expect(found).toEqual(entities);
  });
});
