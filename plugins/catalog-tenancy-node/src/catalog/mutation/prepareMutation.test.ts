import type { Entity } from '@backstage/catalog-model';
import { component } from '../__testUtils__/catalogDatabase';
import { prepareMutation } from './prepareMutation';

function prepare(...entities: unknown[]) {
  return prepareMutation({ type: 'full', entities: entities as Entity[] });
}

function nested(depth: number): object {
  let value: object = {};
  for (let level = 0; level < depth; level += 1) {
    value = { value };
  }
  return value;
}

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;

describe('prepareMutation', () => {
  it.each<[string, unknown, string]>([
    ['null', null, 'entity at position 0: expected an object'],
    ['an array', [], 'entity at position 0: expected an object'],
    ['nothing', undefined, 'entity at position 0: expected an object'],
    ['no kind', component('a', { kind: '' }), 'kind: '],
    ['no apiVersion', { ...component('a'), apiVersion: 1 }, 'apiVersion: '],
    ['no name', component(''), 'metadata.name: '],
    [
      'an empty namespace',
      component('a', { metadata: { namespace: '' } }),
      'metadata.namespace: ',
    ],
    [
      'a colon in the kind',
      component('a', { kind: 'a:b' }),
      'expected no ":" in the kind',
    ],
    [
      'a slash in the namespace',
      component('a', { metadata: { namespace: 'a/b' } }),
      'expected no ":" in the kind, and no "/"',
    ],
    ['a long name', component('é'.repeat(1000)), 'at most 2000 bytes'],
    [
      'a NUL character',
      component('a', { spec: { a: 'b\0' } }),
      'NUL character',
    ],
    ['a NUL in a key', component('a', { spec: { '\0': 1 } }), 'NUL character'],
    [
      'half of a character',
      component('a', { spec: { a: '\ud800x' } }),
      'half of a surrogate pair',
    ],
    [
      'the other half',
      component('a', { spec: { '\\\udc00': 1 } }),
      'half of a surrogate pair',
    ],
    [
      'a cycle',
      component('a', { spec: cyclic as Entity['spec'] }),
      'spec.self: it holds itself',
    ],
    [
      'great depth',
      component('a', { spec: nested(300) as Entity['spec'] }),
      'nested deeper than 200 levels',
    ],
    [
      'abysmal depth',
      component('a', { spec: nested(100_000) as Entity['spec'] }),
      'nested deeper than 200 levels',
    ],
    [
      'great size',
      component('a', { spec: { a: 'x'.repeat(17 * 1024 * 1024) } }),
      'larger than 16777216 bytes',
    ],
    [
      'relations that are none',
      component('a', { relations: {} as Entity['relations'] }),
      'relations: ',
    ],
    [
      'a relation to no entity',
      component('a', { relations: [{ type: 'ownedBy', targetRef: 'me' }] }),
      '"me" is no entity ref',
    ],
    [
      'a relation to a long ref',
      component('a', {
        relations: [{ type: 'a', targetRef: `a:b/${'x'.repeat(2000)}` }],
      }),
      'at most 2000 bytes',
    ],
    [
      'keys that vary in casing',
      component('a', { spec: { Type: 1, type: 2 } }),
      `duplicate keys that vary only in casing, 'spec.type'`,
    ],
    [
      'keys of relations that vary in casing',
      component('a', {
        relations: [
          { type: 'ownedBy', targetRef: 'a:b' },
          { type: 'OwnedBy', targetRef: 'a:b' },
        ],
      }),
      `casing, 'relations.ownedby'`,
    ],
    [
      'a second name',
      component('a', { metadata: { NAME: 'b' } }),
      `casing, 'metadata.name'`,
    ],
  ])('refuses an entity with %s', (_, entity, message) => {
    expect(() => prepare(entity)).toThrow(
      expect.objectContaining({
        name: 'InputError',
        message: expect.stringContaining(message),
      }),
    );
  });

  describe('refuses what JSON.stringify would drop or change, by its path', () => {
    class Labels {
      a = 1;
    }
    const withSymbol = { [Symbol('secret')]: 1 };
    const withItems = Object.assign(['a'], { index: 0 });

    it.each<[string, unknown, string]>([
      ['1e400', JSON.parse('1e400'), 'Infinity, expected a finite number'],
      ['-1e400', JSON.parse('-1e400'), '-Infinity, expected a finite number'],
      ['NaN', NaN, 'NaN, expected a finite number'],
      ['a big integer', BigInt(1), 'a bigint'],
      ['a function', () => 1, 'a function'],
      ['a symbol', Symbol('a'), 'a symbol'],
      ['a Date', new Date(0), 'a Date'],
      ['a Map', new Map([['a', 1]]), 'a Map'],
      ['a Set', new Set([1]), 'a Set'],
      ['a RegExp', /a/, 'a RegExp'],
      ['a Buffer', Buffer.from('a'), 'a Buffer'],
      ['an Error', new Error('a'), 'an Error'],
      ['a boxed number', Object(Infinity), 'a Number'],
      ['an object of a class', new Labels(), 'a Labels'],
      ['a symbol as a key', withSymbol, 'a symbol as a key'],
      ['a list with more than items', withItems, 'a list with more than items'],
    ])('%s', (_, value, message) => {
      const prefix = 'Invalid entity "component:default/a": ';
      const spec = { rates: [{ 'a.b': 0 }, { 'a.b': value }] };
      expect(() =>
        prepare(component('a', { spec } as unknown as Entity)),
      ).toThrow(`${prefix}spec.rates[1]["a.b"]: ${message}`);
      expect(() => prepare({ ...component('a'), extra: value })).toThrow(
        `${prefix}extra: ${message}`,
      );
    });

    it('toJSON, which would put something else in the place of an object', () => {
      const spec = { moved: { a: 1, toJSON: () => 'b' } };
      expect(() =>
        prepare(component('a', { spec } as unknown as Entity)),
      ).toThrow('spec.moved.toJSON: a function');
    });

    it('nothing as an item of a list, which would become null', () => {
      for (const list of [[1, undefined], Array(2)]) {
        expect(() =>
          prepare(component('a', { spec: { list } } as unknown as Entity)),
        ).toThrow(/: spec\.list\[[01]\]: undefined/);
      }
    });

    it('characters that PostgreSQL can not store', () => {
      expect(() =>
        prepare(component('a', { spec: { a: ['b', 'c\0'] } })),
      ).toThrow('spec.a[1]: it holds a NUL character');
      expect(() => prepare(component('a', { spec: { '\ud800': 1 } }))).toThrow(
        'spec["\\ud800"]: it holds a NUL character, or half of a surrogate pair',
      );
    });

    it('with a path that stays short', () => {
      const spec = { ['x'.repeat(100_000)]: { ['y'.repeat(100_000)]: NaN } };
      expect(() => prepare(component('a', { spec }))).toThrow(/^.{100,400}$/);
    });
  });

  it('refuses an entity that refers to the same object without end', () => {
    let shared: unknown = 'x'.repeat(1024);
    for (let level = 0; level < 60; level += 1) {
      shared = { a: shared, b: shared };
    }
    expect(() =>
      prepare(component('a', { spec: { shared } as Entity['spec'] })),
    ).toThrow('larger than 16777216 bytes');
  });

  it('leaves out a property without a value, and takes -0 for 0', () => {
    const hashOf = (spec: object) =>
      prepare(component('a', { spec: spec as Entity['spec'] })).entities[0];
    const given = hashOf({ none: undefined, zero: -0 });
    expect(JSON.parse(given.toFinalEntity('id')).spec).toEqual({ zero: 0 });
    expect(given.hash).toBe(hashOf({ zero: 0 }).hash);
  });

  it('does not change with the object that it was given', () => {
    const entity = component('a', { spec: { list: [1] } });
    const [prepared] = prepare(entity).entities;
    (entity.spec!.list as number[]).push(2);
    expect(JSON.parse(prepared.toFinalEntity('id')).spec).toEqual({
      list: [1],
    });
  });

  it('names the entity that it refuses', () => {
    const bad = component('Bad', { spec: { a: '\0' } });
    expect(() => prepare(component('a'), bad)).toThrow(
      'Invalid entity "component:default/bad": ',
    );
    expect(() => prepare(component('a'), {})).toThrow(
      'Invalid entity at position 1: ',
    );
  });

  it('takes what only looks dangerous', () => {
    const spec = {
      text: '\\u0000 \\\\ud800 😀 \u0001 \u007f',
      tags: ['Java', 'java'],
      ['__proto__']: { a: 1 },
      deep: nested(150),
    } as Entity['spec'];
    const [entity] = prepare(component('a', { spec })).entities;
    const { spec: read } = JSON.parse(entity.toFinalEntity('id'));
    expect(read).toEqual(JSON.parse(JSON.stringify(spec)));
  });

  it('refuses refs that are there twice, in whatever case', () => {
    expect(() => prepare(component('a'), component('A'))).toThrow(
      'Entity "component:default/a" is there more than once',
    );
    expect(() =>
      prepareMutation({
        type: 'delta',
        added: [component('a')],
        removed: [{ entityRef: 'Component:a' }],
      }),
    ).toThrow('Entity "component:default/a" is both added and removed');
  });

  it.each([null, 1, '', 'a\0'])('refuses the source %p', source => {
    expect(() =>
      prepareMutation({
        type: 'full',
        entities: [],
        source: source as string,
      }),
    ).toThrow('Invalid source');
  });

  it('refuses another type', () => {
    expect(() =>
      prepareMutation({ type: 'other' as 'full', entities: [] }),
    ).toThrow('Invalid mutation type "other", expected "full" or "delta"');
  });

  it('sees no change in the order of keys, nor in what the store has added', () => {
    const hashOf = (entity: Entity) => prepare(entity).entities[0].hash;
    const one = component('a', { spec: { a: 1, b: { c: 2, d: [3, 4] } } });
    const other = component('a', { spec: { b: { d: [3, 4], c: 2 }, a: 1 } });
    expect(hashOf(other)).toBe(hashOf(one));
    const [prepared] = prepare(one).entities;
    expect(hashOf(JSON.parse(prepared.toFinalEntity('id')))).toBe(hashOf(one));
    expect(
      hashOf(component('a', { spec: { a: 1, b: { c: 2, d: [4, 3] } } })),
    ).not.toBe(hashOf(one));
  });
});
