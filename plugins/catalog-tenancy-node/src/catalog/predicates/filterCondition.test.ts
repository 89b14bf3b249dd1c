import type { FilterPredicate } from '@backstage/filter-predicates';
import knexFactory from 'knex';
import { filterCondition } from './filterCondition';
import { ValueText } from './values';

const knex = knexFactory({ client: 'pg' });
const context = {
  scope: {
    tenantId: '00000000-0000-0000-0000-000000000001',
    knex,
    table: (table: string, alias: string = table) => knex({ [alias]: table }),
    insertInto: (table: string) => knex(table),
  },
  text: new ValueText(knex, { unicode: true }),
};

function read(filter: unknown) {
  return filterCondition(context, filter as FilterPredicate);
}

describe('filterCondition', () => {
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

  it('hands every key and value over as a binding', () => {
    const hostile = `x' or 1 = 1 --`;
    const { sql } = read({
      [hostile]: hostile,
      a: { $in: [hostile, `${hostile}2`] },
      b: { $hasPrefix: hostile },
      kind: hostile,
      relations: { $contains: { type: hostile, targetRef: hostile } },
    })
      .toSQL()
      .toNative();
    expect(sql).not.toContain('1 = 1');
  });
});
