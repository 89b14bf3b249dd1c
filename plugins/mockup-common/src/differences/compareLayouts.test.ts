import fc from 'fast-check';
import assert from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import { applyPatch } from 'rfc6902';
import type { ItemDifference, LayoutItem } from '../schemas';
import { compareLayouts } from './compareLayouts';

// More of them: LAYOUT_PAIRS=50000.
const SECTION = 'container-section';

const RUNS = Number(process.env.LAYOUT_PAIRS ?? 2000);

function item(overrides: Partial<LayoutItem> = {}): LayoutItem {
  return {
    i: 'a',
    x: 0,
    y: 0,
    w: 1,
    h: 1,
    component: 'C',
    props: {},
    ...overrides,
  };
}

function named(...names: string[]): LayoutItem[] {
  return names.map(i => item({ i }));
}

/** As what is sent over HTTP, with no `-0`, and objects that share nothing. */
function asJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

/** Each item with its container, and of its own: what it holds comes after it. */
function flat(
  items: LayoutItem[],
  within?: string,
): { whole: LayoutItem; own: LayoutItem; within?: string }[] {
  return items.flatMap(whole => {
    if (whole.component !== SECTION) {
      return [{ whole, own: whole, within }];
    }
    const { items: held, ...rest } = whole.props;
    const own = { ...whole, props: rest };
    return [{ whole, own, within }, ...flat(held as LayoutItem[], whole.i)];
  });
}

/** What differs, found out by another way than the code under test. */
function expectedItems(before: LayoutItem[], after: LayoutItem[]) {
  const expected: ItemDifference[] = [];
  const placeOf = (within?: string) => (within ? { within } : {});
  const [olds, nows] = [flat(before), flat(after)];
  for (const { whole, within } of olds) {
    if (!nows.some(({ own }) => own.i === whole.i)) {
      expected.push({
        i: whole.i,
        ...placeOf(within),
        change: 'removed',
        before: whole,
      });
    }
  }
  for (const now of nows) {
    const { i } = now.own;
    const old = olds.find(({ own }) => own.i === i);
    const place = placeOf(now.within);
    if (!old) {
      expected.push({ i, ...place, change: 'added', after: now.whole });
    } else if (
      old.within !== now.within ||
      !isDeepStrictEqual(old.own, now.own)
    ) {
      const keys = [
        ...new Set([...Object.keys(old.own), ...Object.keys(now.own)]),
      ];
      const differing = [
        ...keys.filter(
          each =>
            !isDeepStrictEqual(
              Reflect.get(old.own, each),
              Reflect.get(now.own, each),
            ),
        ),
        ...(old.within === now.within ? [] : ['x']),
      ];
      const flags: Record<string, string> = {
        x: 'moved',
        y: 'moved',
        w: 'resized',
        h: 'resized',
        component: 'component',
        props: 'props',
      };
      expected.push({
        i,
        ...place,
        change: 'changed',
        before: old.whole,
        after: now.whole,
        ...Object.fromEntries(
          differing.map(each => [flags[each] ?? 'other', true]),
        ),
      });
    }
  }
  return expected;
}

const key = fc.oneof(
  fc.constantFrom('a', 'b', 'rows', 'a/b', '~', '~1', '', '0', '-'),
  fc
    .string({ unit: 'binary', maxLength: 4 })
    .filter(text => !/[\0\p{Cs}]/u.test(text)),
);
// Keys that a path cannot follow in JavaScript, and one that cannot even be assigned.
const riskyKey = fc.constantFrom('constructor', 'prototype', 'toString');

function props(keys: fc.Arbitrary<string>) {
  const value = fc.letrec(tie => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(0, 1, 'x', 'y', null, true),
      fc.string({ maxLength: 5 }),
      fc.array(tie('value'), { maxLength: 6 }),
      fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
    ),
  })).value;
  return fc.dictionary(keys, value, { maxKeys: 4 });
}

function layouts(keys: fc.Arbitrary<string>) {
  const fields = fc.record(
    {
      x: fc.nat(2),
      y: fc.nat(2),
      w: fc.integer({ min: 1, max: 2 }),
      h: fc.integer({ min: 1, max: 2 }),
      component: fc.constantFrom('Text', 'Table'),
      props: props(keys),
      minW: fc.nat(1),
      static: fc.boolean(),
      resizeHandles: fc.constantFrom(['s'], ['s', 'e'], ['e', 's']),
    },
    { requiredKeys: ['x', 'y', 'w', 'h', 'component', 'props'] },
  );
  const layout = fc
    .uniqueArray(fc.constantFrom(...'abcdefghijklm'), { maxLength: 13 })
    .chain(names =>
      fc
        .array(fields, { minLength: names.length, maxLength: names.length })
        .map(all =>
          names.map((i, index) => ({ i, ...all[index] } as LayoutItem)),
        ),
    );
  /** Mostly the same items, as in two versions of a mockup. */
  const edited = layout.chain(before =>
    fc
      .tuple(
        fc.shuffledSubarray(before),
        layout,
        fc.array(fc.tuple(fc.nat(20), fields), { maxLength: 3 }),
      )
      .map(([kept, more, changes]): [LayoutItem[], LayoutItem[]] => {
        const after = [
          ...kept,
          ...more.filter(({ i }) => !before.some(old => old.i === i)),
        ];
        for (const [at, change] of changes.filter(() => after.length > 0)) {
          const index = at % after.length;
          after[index] = {
            ...after[index],
            ...(change as Partial<LayoutItem>),
            // Some of what was there, so that objects and lists overlap.
            props: { ...after[index].props, ...change.props },
          };
        }
        return [before, after];
      }),
  );
  // What is in which of two containers, of which the second may be in the first.
  const homes = fc.dictionary(
    fc.constantFrom(...'bcdefghijklm'),
    fc.constantFrom('a', 'b'),
  );
  return fc
    .tuple(fc.oneof(edited, fc.tuple(layout, layout)), homes, homes)
    .map(([[before, after], old, now]): [LayoutItem[], LayoutItem[]] => [
      nest(before, old),
      nest(after, { ...old, ...now }),
    ])
    .map(asJson);
}

function nest(items: LayoutItem[], homes: Record<string, string>) {
  const homeOf = (i: string) =>
    homes[i] !== i && items.some(each => each.i === homes[i])
      ? homes[i]
      : undefined;
  const itemsIn = (home?: string): LayoutItem[] =>
    items
      .filter(({ i }) => homeOf(i) === home)
      .map(each => {
        const held = itemsIn(each.i);
        return held.length > 0
          ? {
              ...each,
              component: SECTION,
              props: { ...each.props, items: held },
            }
          : each;
      });
  return itemsIn();
}

describe('compareLayouts', () => {
  it('tells what became of each item, and how rfc6902 makes the second layout of the first', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(layouts(fc.oneof(key, riskyKey)), ([before, after]) => {
        const original = asJson(before);
        const { items, patch } = compareLayouts(before, after);
        assert.deepStrictEqual(before, original);

        const patched = asJson(before);
        const failures = applyPatch(patched, asJson(patch)).filter(Boolean);
        assert.deepStrictEqual(failures, []);
        assert.deepStrictEqual(patched, after);

        assert.deepStrictEqual(items, expectedItems(before, after));
        for (const {
          i: _i,
          before: _b,
          after: _a,
          change,
          ...flags
        } of items) {
          [change, ...Object.keys(flags)].forEach(each => seen.add(each));
        }
      }),
      { numRuns: RUNS },
    );
    // None of them may have gone untried.
    expect([...seen].sort()).toEqual([
      'added',
      'changed',
      'component',
      'moved',
      'other',
      'props',
      'removed',
      'resized',
      'within',
    ]);
  });

  it('finds no difference between equal layouts, whatever the order of their members', () => {
    const one = [item({ props: { a: 1, b: [{ c: 2, d: 3 }] } })];
    const other = [
      { ...item(), props: { b: [{ d: 3, c: 2 }], a: 1 } } as LayoutItem,
    ];
    expect(compareLayouts(one, other)).toEqual({ items: [], patch: [] });
  });

  it('takes a member that is undefined for none, as JSON does', () => {
    expect(
      compareLayouts(
        [item()],
        [item({ minW: undefined, props: { a: undefined } })],
      ),
    ).toEqual({ items: [], patch: [] });
  });

  it.each([
    [
      'an item that went to the front',
      named('a', 'b', 'c', 'd'),
      named('d', 'a', 'b', 'c'),
      [{ op: 'move', from: '/3', path: '/0' }],
    ],
    [
      'an item that went to the end',
      named('a', 'b', 'c', 'd'),
      named('b', 'c', 'd', 'a'),
      [{ op: 'move', from: '/0', path: '/3' }],
    ],
    [
      'an item inserted at the front',
      named('b', 'c'),
      named('a', 'b', 'c'),
      [{ op: 'add', path: '/0', value: item({ i: 'a' }) }],
    ],
    [
      'a removed item',
      named('a', 'b', 'c'),
      named('a', 'c'),
      [{ op: 'remove', path: '/1' }],
    ],
    [
      'one coordinate',
      [item({ x: 1 })],
      [item({ x: 2 })],
      [{ op: 'replace', path: '/0/x', value: 2 }],
    ],
    [
      'a row inserted at the top of a table',
      [item({ props: { rows: ['b', 'c'] } })],
      [item({ props: { rows: ['a', 'b', 'c'] } })],
      [{ op: 'add', path: '/0/props/rows/0', value: 'a' }],
    ],
    [
      'a row removed from the middle of a table',
      [item({ props: { rows: ['a', 'b', 'c'] } })],
      [item({ props: { rows: ['a', 'c'] } })],
      [{ op: 'remove', path: '/0/props/rows/1' }],
    ],
    [
      'keys with a slash and a tilde',
      [item({ props: { 'a/b~': 1, text: 'x'.repeat(50) } })],
      [item({ props: { text: 'x'.repeat(50) } })],
      [{ op: 'remove', path: '/0/props/a~1b~0' }],
    ],
  ] as const)('patches %s by one operation', (_what, before, after, patch) => {
    expect(compareLayouts([...before], [...after]).patch).toEqual(patch);
  });

  it('replaces what differs in most of its values', () => {
    const numbers = (start: number) =>
      Array.from({ length: 50 }, (_, index) => start + index);
    expect(
      compareLayouts(
        [item({ props: { data: numbers(0) } })],
        [item({ props: { data: numbers(100) } })],
      ).patch,
    ).toEqual([{ op: 'replace', path: '/0/props/data', value: numbers(100) }]);
  });

  it('makes no patch that is much larger than the layout, however long its paths', () => {
    const data = (value: number) => ({
      ['k'.repeat(100_000)]: Object.fromEntries(
        Array.from({ length: 20_000 }, (_, index) => [`n${index}`, value]),
      ),
    });
    const after = [item({ props: data(1) })];
    const { patch } = compareLayouts([item({ props: data(0) })], after);
    expect(JSON.stringify(patch).length).toBeLessThan(
      2 * JSON.stringify(after).length,
    );
  });

  it('compares drafts that have an i twice', () => {
    const before = [item({ x: 1 }), item({ x: 2 }), item({ i: 'b' })];
    const after = [item({ i: 'b' }), item({ x: 1 }), item({ x: 3 })];
    const { items, patch } = compareLayouts(before, after);
    expect(items).toEqual([
      {
        i: 'a',
        change: 'changed',
        moved: true,
        before: item({ x: 2 }),
        after: item({ x: 3 }),
      },
    ]);
    const patched = asJson(before);
    applyPatch(patched, asJson(patch));
    expect(patched).toEqual(after);
  });

  it.each([
    ['reversed', (items: LayoutItem[]) => [...items].reverse()],
    [
      'changed',
      (items: LayoutItem[]) =>
        items.map(each => ({ ...each, x: 1, props: { rows: [1, 2] } })),
    ],
    [
      'replaced',
      (items: LayoutItem[]) =>
        items.map(each => ({ ...each, i: `new ${each.i}` })),
    ],
  ])(
    'compares 1,000 items that were %s without comparing each with each other',
    (_how, change) => {
      const before = Array.from({ length: 1000 }, (_, index) =>
        item({ i: `item ${index}`, y: index, props: { rows: [1, 2, 3] } }),
      );
      const after = change(before);
      let reads = 0;
      const counted = before.map(({ i, ...rest }) => ({
        ...rest,
        get i() {
          reads += 1;
          return i;
        },
      }));
      compareLayouts(counted, after);
      // Each with each other would read a million.
      expect(reads).toBeLessThan(100_000);

      const patched = asJson(before);
      applyPatch(patched, asJson(compareLayouts(before, after).patch));
      expect(patched).toEqual(after);
    },
  );
});
