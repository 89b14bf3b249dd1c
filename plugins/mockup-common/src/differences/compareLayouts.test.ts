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

// Some are members of every object in JavaScript.
const KEYS = fc.constantFrom('a', 'rows', 'a/b~', '', 'constructor');
const VALUES = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(0, 1, 'x', 'y', null, true),
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(KEYS, tie('value'), { maxKeys: 4 }),
  ),
})).value;

function layouts() {
  const fields = fc.record(
    {
      x: fc.nat(2),
      y: fc.nat(2),
      w: fc.integer({ min: 1, max: 2 }),
      h: fc.integer({ min: 1, max: 2 }),
      component: fc.constantFrom('Text', 'Table'),
      props: fc.dictionary(KEYS, VALUES, { maxKeys: 4 }),
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
      fc.property(layouts(), ([before, after]) => {
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
      'all properties of an item',
      [item({ props: { rows: ['b', 'c'] } })],
      [item({ props: { rows: ['a', 'b', 'c'] } })],
      [{ op: 'replace', path: '/0/props', value: { rows: ['a', 'b', 'c'] } }],
    ],
    [
      'a field that is left out',
      [item({ static: true })],
      [item()],
      [{ op: 'remove', path: '/0/static' }],
    ],
  ] as const)('patches %s by one operation', (_what, before, after, patch) => {
    expect(compareLayouts([...before], [...after]).patch).toEqual(patch);
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
