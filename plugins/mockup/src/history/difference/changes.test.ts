import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { changedFields, inReadingOrder } from './changes';

const item = (more: Partial<LayoutItem> = {}): LayoutItem => ({
  i: 'a',
  x: 0,
  y: 0,
  w: 2,
  h: 2,
  component: 'text',
  props: {},
  ...more,
});

const fieldsOf = (before: Partial<LayoutItem>, after: Partial<LayoutItem>) =>
  changedFields({
    i: 'a',
    change: 'changed',
    before: item(before),
    after: item(after),
  });

describe('the fields that differ', () => {
  it.each([
    ['was not there', {}, { a: 1 }, [{ name: 'a', after: '1' }]],
    ['is gone', { a: 'x' }, {}, [{ name: 'a', before: 'x' }]],
    [
      'has other entries',
      { a: [{ b: 1 }], c: 2 },
      { a: [{ b: 2 }], c: 2 },
      [{ name: 'a', before: '[{"b":1}]', after: '[{"b":2}]' }],
    ],
    ['is null', { a: null }, {}, [{ name: 'a', before: 'null' }]],
    [
      'has a name that objects know',
      JSON.parse('{"__proto__":1}'),
      JSON.parse('{"__proto__":2}'),
      [{ name: '__proto__', before: '1', after: '2' }],
    ],
    ['is the same', { a: [{ b: null }] }, { a: [{ b: null }] }, []],
  ])('one that %s', (_, before, after, expected) => {
    expect(fieldsOf({ props: before }, { props: after })).toEqual(expected);
  });

  it('are the settings of the item too, but not its place', () => {
    expect(
      fieldsOf({ x: 1, minW: 2 }, { x: 2, minW: 3, static: true }),
    ).toEqual([
      { name: 'minW', before: '2', after: '3' },
      { name: 'static', after: 'true' },
    ]);
  });

  it('are all properties of an item that was added', () => {
    const props = { text: 'Hello' };
    expect(
      changedFields({ i: 'a', change: 'added', after: item({ props }) }),
    ).toEqual([{ name: 'text', after: 'Hello' }]);
  });
});

it('walks in reading order, by where an item is now', () => {
  const at = (i: string, x: number, y: number) =>
    ({ i, change: 'added', after: item({ i, x, y }) } as const);
  const removed = {
    i: 'gone',
    change: 'removed',
    before: item({ x: 1, y: 1 }),
  } as const;
  expect(
    inReadingOrder([at('low', 0, 5), removed, at('left', 0, 1)]).map(
      ({ i }) => i,
    ),
  ).toEqual(['left', 'gone', 'low']);
});
