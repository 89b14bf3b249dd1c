import { component } from '../__testUtils__/entities';
import { memoryStore } from '../__testUtils__/memoryStore';
import { ORDERED_PART_SIZE, PART_SIZE, readInParts } from './readInParts';

const number = (index: number) => String(index).padStart(6, '0');
const entities = Array.from({ length: 2 * PART_SIZE + 500 }, (_, index) =>
  component(number(index)),
);

describe('readInParts', () => {
  it.each([
    [{}, entities],
    [{ order: [{ field: 'metadata.name', order: 'asc' as const }] }, entities],
    [{ limit: PART_SIZE + 10, offset: 5 }, entities.slice(5, PART_SIZE + 15)],
    [{ limit: 2 * PART_SIZE }, entities.slice(0, 2 * PART_SIZE)],
    [{ limit: 3, offset: 1 }, entities.slice(1, 4)],
    [{ offset: entities.length }, []],
  ])(
    'reads each entity of %j once, a part at a time',
    async (query, expected) => {
      const store = memoryStore(entities);
      const read = [];
      for await (const part of readInParts(store, 'acme', query)) {
        expect(part.length).toBeGreaterThan(0);
        expect(part.length).toBeLessThanOrEqual(
          'order' in query ? ORDERED_PART_SIZE : PART_SIZE,
        );
        read.push(...part);
      }
      expect(read).toEqual(expected);
    },
  );

  it('has few parts in the order of a field, each of which is put in order anew', async () => {
    const many = Array.from({ length: ORDERED_PART_SIZE + 500 }, (_, index) =>
      component(number(index)),
    );
    const store = memoryStore(many);
    const order = [{ field: 'metadata.name', order: 'asc' as const }];
    const read = [];
    for await (const part of readInParts(store, 'acme', { order })) {
      read.push(...part);
    }
    expect(read).toEqual(many);
    expect(store.queryEntities).toHaveBeenCalledTimes(2);
  });

  it('loses and repeats nothing that others write around meanwhile', async () => {
    const live = [...entities];
    const store = memoryStore(live);
    const read = [];
    for await (const part of readInParts(store, 'acme', {})) {
      if (read.length === 0) {
        live.shift();
        live.unshift(component('000000-a'), component('000000-b'));
      }
      read.push(...part);
    }
    expect(read).toEqual(entities);
  });

  it('reads no part that nobody asks for', async () => {
    const store = memoryStore(entities);
    for await (const part of readInParts(store, 'acme', {})) {
      expect(part).toHaveLength(PART_SIZE);
      break;
    }
    expect(store.queryEntities).toHaveBeenCalledTimes(1);
  });
});
