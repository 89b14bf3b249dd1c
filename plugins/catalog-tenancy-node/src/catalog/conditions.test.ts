import type { FilterPredicate } from '@backstage/filter-predicates';
import { readFilter } from './conditions';

function read(filter: unknown) {
  return readFilter(filter as FilterPredicate);
}

describe('readFilter', () => {
  // The texts are those of the stock catalog.
  it.each<[unknown, string]>([
    [
      'a',
      'Invalid filter predicate: top-level primitive values are not supported. Wrap the value in a field expression, e.g. { "kind": "a" }',
    ],
    [
      [1],
      'Invalid filter predicate: top-level primitive values are not supported. Wrap the value in a field expression, e.g. { "kind": [1] }',
    ],
    [
      { $any: [{ a: 1 }, null] },
      'Invalid filter predicate: top-level primitive values are not supported. Wrap the value in a field expression, e.g. { "kind": null }',
    ],
    [
      { Kind: { $unknown: 1 } },
      'Invalid filter predicate value for field "kind": expected a primitive value, $exists, $in, $hasPrefix, or $contains operator, but got {"$unknown":1}',
    ],
    [
      { kind: null },
      'Invalid filter predicate value for field "kind": expected a primitive value, $exists, $in, $hasPrefix, or $contains operator, but got null',
    ],
    [
      { $unknown: ['a'] },
      'Invalid filter predicate value for field "$unknown": expected a primitive value, $exists, $in, $hasPrefix, or $contains operator, but got ["a"]',
    ],
    [
      { 'metadata.Tags': { $contains: { a: 1 } } },
      'Object form of $contains is not supported for field "metadata.tags"',
    ],
    [
      { a: { $contains: ['b'] } },
      'Unsupported $contains target for field "a": ["b"]',
    ],
    [
      { relations: { $contains: {} } },
      'The $contains operator for "relations" requires a "type" string property',
    ],
    [
      { relations: { $contains: { type: '' } } },
      'The $contains operator for "relations" requires a "type" string property',
    ],
    [
      { relations: { $contains: { type: 1 } } },
      'The $contains operator for "relations" requires a "type" string property',
    ],
    [
      { relations: { $contains: { type: 'a', TYPE: 'b' } } },
      'Duplicate key "TYPE" in $contains for "relations"',
    ],
    [
      {
        relations: {
          $contains: { type: 'a', targetRef: 'b', targetref: 'c' },
        },
      },
      'Duplicate key "targetref" in $contains for "relations"',
    ],
    [
      { relations: { $contains: { type: 'a', other: 'b' } } },
      'Unsupported key "other" in $contains for "relations". Only "type" and "targetRef" are supported',
    ],
    [
      { relations: { $contains: { type: 'a', targetRef: { $in: [] } } } },
      'Empty "$in" array for $contains on "relations" is not allowed',
    ],
    [
      { relations: { $contains: { type: 'a', targetRef: { $in: [1] } } } },
      'Unsupported value in $contains for "relations": expected a string or { "$in": [strings] }, but got {"$in":[1]}',
    ],
  ])('refuses %j as the stock catalog does', (filter, message) => {
    expect(() => read(filter)).toThrow(
      expect.objectContaining({ name: 'InputError', message }),
    );
  });

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
