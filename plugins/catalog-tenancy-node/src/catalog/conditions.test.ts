import type { FilterPredicate } from '@backstage/filter-predicates';
import { readFilter } from './conditions';

function read(filter: unknown) {
  return readFilter(filter as FilterPredicate);
}

describe('readFilter', () => {
  it.each([
    { $all: 1 },
    { $any: {} },
    { a: { $in: 1 } },
    { a: { $hasPrefix: 1 } },
  ])('refuses %j, on which the stock catalog fails', filter => {
    expect(() => read(filter)).toThrow(
      expect.objectContaining({ name: 'InputError' }),
    );
  });

  it('refuses a filter that is too deep or has too many conditions', () => {
    let deep: object = { a: 1 };
    for (let depth = 0; depth < 10_000; depth += 1) {
      deep = { $not: deep };
    }
    expect(() => read(deep)).toThrow('nested deeper than 100 levels');
    expect(() =>
      read({ $any: Array.from({ length: 201 }, () => ({ a: 1 })) }),
    ).toThrow('more than 200 conditions');
  });

  const oneOf = (key: string, ...values: string[]) => ({
    type: 'term',
    keys: [key],
    test: { type: 'oneOf', values },
    negated: false,
  });

  it('asks once for a key that may have any of several values', () => {
    expect(
      read({ $any: [{ Kind: 'A' }, { kind: { $in: ['b', 'a'] } }] }),
    ).toEqual(oneOf('kind', 'a', 'b'));
    expect(read({ $not: { $all: [{ a: 1 }, { $not: { a: 2 } }] } })).toEqual({
      type: 'any',
      conditions: [{ ...oneOf('a', '1'), negated: true }, oneOf('a', '2')],
    });
    // Both, and not any of them.
    expect(read({ $all: [{ a: 1 }, { a: 2 }] })).toEqual({
      type: 'all',
      conditions: [oneOf('a', '1'), oneOf('a', '2')],
    });
  });

  it('leaves out what changes nothing, and all where nothing can match', () => {
    const nothing = { type: 'any', conditions: [] };
    const everything = { type: 'all', conditions: [] };
    const tooLong = { ['k'.repeat(201)]: 1 };
    expect(read({ $all: [{ $all: [{ a: 1 }, {}] }] })).toEqual(oneOf('a', '1'));
    expect(read({ $all: [{ a: 1 }, { A: '1' }] })).toEqual(oneOf('a', '1'));
    expect(read({ a: 1, ...tooLong })).toEqual(nothing);
    expect(read({ $any: [{ a: 1 }, { $not: tooLong }] })).toEqual(everything);
    expect(read({ a: 'v'.repeat(201) })).toEqual(nothing);
    expect(read({ $not: { $any: [] } })).toEqual(everything);
  });
});
