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
      'it is not JSON',
    ],
    [
      'a big integer',
      component('a', { spec: { a: BigInt(1) } as unknown as Entity['spec'] }),
      'it is not JSON',
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
