import type { LayoutItem } from 'backstage-plugin-mockup-common';
import {
  changedFields,
  compareTexts,
  inReadingOrder,
  kindsOf,
} from './changes';

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
  it('are named by their path, as deep as they differ', () => {
    expect(
      fieldsOf(
        { props: { links: [{ url: 'a', title: 'A' }], same: { x: 1 } } },
        { props: { links: [{ url: 'b', title: 'A' }], same: { x: 1 } } },
      ),
    ).toEqual([{ path: 'links[0].url', before: 'a', after: 'b' }]);
  });

  it.each([
    ['was not there', {}, { a: 1 }, [{ path: 'a', after: '1' }]],
    ['is gone', { a: 'x' }, {}, [{ path: 'a', before: 'x' }]],
    [
      'is of another type',
      { a: '1' },
      { a: { b: 1 } },
      [{ path: 'a', before: '1', after: '{"b":1}' }],
    ],
    ['is null', { a: null }, {}, [{ path: 'a', before: 'null' }]],
    [
      'is empty',
      { a: {} },
      { a: [] },
      [{ path: 'a', before: '{}', after: '[]' }],
    ],
    [
      'has become empty',
      { a: [1] },
      { a: [] },
      [{ path: 'a[0]', before: '1' }],
    ],
    [
      'has a name that objects know',
      JSON.parse('{"__proto__":{"b":1}}'),
      JSON.parse('{"__proto__":{"b":2}}'),
      [{ path: '__proto__.b', before: '1', after: '2' }],
    ],
    ['is the same', { a: [{ b: null }] }, { a: [{ b: null }] }, []],
  ])('one that %s', (_, before, after, expected) => {
    expect(fieldsOf({ props: before }, { props: after })).toEqual(expected);
  });

  it('are the settings of the item too, but not its place', () => {
    expect(
      fieldsOf({ x: 1, minW: 2 }, { x: 2, minW: 3, static: true }),
    ).toEqual([
      { path: 'minW', before: '2', after: '3' },
      { path: 'static', after: 'true' },
    ]);
  });

  it('are all properties of an item that was added or removed', () => {
    const props = { text: 'Hello', list: [1] };
    expect(
      changedFields({ i: 'a', change: 'added', after: item({ props }) }),
    ).toEqual([
      { path: 'text', after: 'Hello' },
      { path: 'list[0]', after: '1' },
    ]);
  });
});

describe('texts', () => {
  it('show the words that differ', () => {
    expect(compareTexts('Our old page', 'Our new page')).toEqual([
      { text: 'Our ', is: 'same' },
      { text: 'old', is: 'removed' },
      { text: 'new', is: 'added' },
      { text: ' page', is: 'same' },
    ]);
  });

  it('that have nothing in common are shown one after the other', () => {
    expect(compareTexts('one', 'two')).toEqual([
      { text: 'one', is: 'removed' },
      { text: 'two', is: 'added' },
    ]);
  });

  it('that are long and differ everywhere are shortened, not compared', () => {
    const long = (word: string) =>
      Array.from({ length: 200_000 }, (_, n) => `${word}${n}`).join(' ');
    const pieces = compareTexts(long('a'), long('b'));
    expect(pieces.map(({ is }) => is)).toEqual(['removed', 'added']);
    expect(pieces[0].text.length).toBeLessThan(2_100);
  });
});

it('says what has happened to an item, each thing once', () => {
  expect(
    kindsOf({
      i: 'a',
      change: 'changed',
      props: true,
      moved: true,
      before: item(),
      after: item(),
    }),
  ).toEqual(['moved', 'props']);
  expect(kindsOf({ i: 'a', change: 'removed', before: item() })).toEqual([
    'removed',
  ]);
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
