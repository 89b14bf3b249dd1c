import {
  allItems,
  isEqualJson,
  itemsWithin,
  type LayoutItem,
  withoutItems,
} from 'backstage-plugin-mockup-common';
import * as fc from 'fast-check';
import { overlapsIn } from '../../__testUtils__/overlaps';
import { merge } from './differences';
import { boxOf } from '../../components/grid';
import type { Content } from './editorReducer';
import { insertItems, moveItems, resizeItems } from './grid';

const ids = ['a', 'b', 'c', 'd'];
const someItem = (i: string): fc.Arbitrary<LayoutItem> =>
  fc.record({
    i: fc.constant(i),
    x: fc.integer({ min: 0, max: 3 }),
    y: fc.integer({ min: 0, max: 3 }),
    w: fc.constant(2),
    h: fc.constant(2),
    component: fc.constant('text'),
    props: fc.record({ text: fc.constantFrom('one', 'two') }),
  });
const someContent: fc.Arbitrary<Content> = fc.record({
  name: fc.constantFrom('Start', 'Home'),
  description: fc.constantFrom('', 'First'),
  items: fc
    .subarray(ids)
    .chain(some => fc.tuple(...some.map(someItem)) as fc.Arbitrary<Items>)
    .chain(some =>
      fc
        .dictionary(fc.constantFrom('b', 'c', 'd'), fc.constantFrom('a', 'b'))
        .map(homes => nest(some, homes)),
    ),
});
type Items = LayoutItem[];

const isSection = (i: string) => i === 'a' || i === 'b';
const section = (item: LayoutItem, items: Items): LayoutItem => ({
  ...item,
  component: 'container-section',
  props: { ...item.props, items },
});

/** Puts items into the sections `a` and `b`, of which the second may be in the first. */
function nest(items: Items, homes: Record<string, string>): Items {
  const homeOf = (i: string) =>
    homes[i] !== i && items.some(each => each.i === homes[i])
      ? homes[i]
      : undefined;
  const itemsIn = (home?: string): Items =>
    items
      .filter(({ i }) => homeOf(i) === home)
      .map(each => (isSection(each.i) ? section(each, itemsIn(each.i)) : each));
  return itemsIn();
}
const byId = ({ items }: Content) =>
  new Map(
    allItems(items).map(({ item, within }) => [
      item.i,
      { ...withoutItems(item), within },
    ]),
  );
const isSame = (a: unknown, b: unknown) =>
  JSON.stringify(a) === JSON.stringify(b);
type Placed = LayoutItem & { within?: string };
/** Without its row, which others push down. */
const rowless = (item: Placed | undefined) => item && { ...item, y: 0 };
const allOf = (result: ReturnType<typeof merge>) =>
  new Set(result.clashes.map(({ key }) => key));

type Edit = (items: Items) => Items;
const size = fc.integer({ min: 1, max: 6 });
const place = fc.record({
  x: fc.integer({ min: 0, max: 11 }),
  y: fc.integer({ min: 0, max: 12 }),
  w: size,
  h: size,
});
/** What somebody does: each adds items of their own. */
const someEdits = (by: string): fc.Arbitrary<Edit[]> =>
  fc.array(
    fc.oneof(
      fc.tuple(place, fc.nat(3), fc.boolean()).map(
        ([box, n, isStatic]): Edit =>
          items =>
            items.some(({ i }) => i === `${by} ${n}`)
              ? items
              : [
                  ...insertItems(items, [
                    {
                      i: `${by} ${n}`,
                      ...box,
                      ...boxOf(box),
                      component: 'text',
                      props: {},
                      static: isStatic,
                    },
                  ]),
                ],
      ),
      fc.tuple(fc.nat(5), place).map(
        ([n, { x, y }]): Edit =>
          items =>
            items[n]
              ? [...moveItems(items, new Set([items[n].i]), x - 6, y - 6)]
              : items,
      ),
      fc.tuple(fc.nat(5), place).map(
        ([n, box]): Edit =>
          items =>
            items[n]
              ? [...resizeItems(items, new Map([[items[n].i, box]]))]
              : items,
      ),
      fc.nat(5).map(
        (n): Edit =>
          items =>
            items.filter((_, at) => at !== n),
      ),
    ),
    { maxLength: 8 },
  );
const edited = (items: Items, edits: Edit[]) =>
  edits.reduce((now, edit) => edit(now), items);
const contentOf = (items: Items): Content => ({
  name: '',
  description: '',
  items,
});

const SECTION: LayoutItem = {
  ...{ i: 'section', x: 0, y: 0, w: 12, h: 9 },
  component: 'container-section',
  props: {},
};

describe('merging', () => {
  it('takes what only one has changed, and of the rest what is chosen', () => {
    fc.assert(
      fc.property(
        someContent,
        someContent,
        someContent,
        fc.boolean(),
        (base, mine, theirs, choosesTheirs) => {
          const merging = merge(base, mine, theirs);
          const result = merging.resultOf(
            choosesTheirs ? allOf(merging) : new Set(),
          );
          const [b, m, t, r] = [base, mine, theirs, result].map(byId);
          const expected = (i: string) => {
            if (isSame(b.get(i), t.get(i))) {
              return m.get(i);
            }
            return isSame(b.get(i), m.get(i)) || choosesTheirs
              ? t.get(i)
              : m.get(i);
          };
          // What was in a container that is gone is on the page.
          const home = (item: Placed | undefined) =>
            item && {
              ...item,
              within: r.has(item.within ?? '') ? item.within : undefined,
            };
          expect(ids.map(i => rowless(r.get(i)))).toEqual(
            ids.map(i => rowless(home(expected(i)))),
          );
          expect(allItems(result.items)).toHaveLength(r.size);
        },
      ),
    );
  });

  it('is what one has made where the other has changed nothing', () => {
    fc.assert(
      fc.property(someContent, someContent, (base, changed) => {
        const mine = merge(base, changed, base);
        const theirs = merge(base, base, changed);
        expect([mine.clashes, theirs.clashes]).toEqual([[], []]);
        expect(isEqualJson(mine.resultOf(new Set()), changed)).toBe(true);
        const result = theirs.resultOf(new Set());
        expect(byId(result)).toEqual(byId(changed));
        expect([result.name, result.description]).toEqual([
          changed.name,
          changed.description,
        ]);
      }),
    );
  });

  it('lays no item on another', () => {
    fc.assert(
      fc.property(
        someEdits('base'),
        someEdits('mine'),
        someEdits('theirs'),
        fc.func(fc.boolean()),
        fc.boolean(),
        (before, mine, theirs, decide, isWithin) => {
          const base = edited([], before);
          const content = (items: Items) =>
            contentOf(isWithin ? [section(SECTION, items)] : items);
          const merging = merge(
            content(base),
            content(edited(base, mine)),
            content(edited(base, theirs)),
          );
          const decided = [...allOf(merging)].filter(key => decide(key));
          const { items } = merging.resultOf(new Set(decided));
          expect(overlapsIn(isWithin ? itemsWithin(items[0]) : items)).toEqual(
            [],
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('keeps containers that each has put into the other, and what is in them', () => {
    const box = { x: 0, y: 0, w: 2, h: 2, props: {}, component: 'text' };
    const [a, b, inner] = ['a', 'b', 'c'].map(i => ({ ...box, i }));
    const merging = merge(
      contentOf([section(a, [inner]), section(b, [])]),
      contentOf([section(b, [section(a, [inner])])]),
      contentOf([section(a, [inner, section(b, [])])]),
    );
    expect(merging.clashes).toEqual([]);
    const { items } = merging.resultOf(new Set());
    expect(allItems(items).map(({ item, within }) => [item.i, within])).toEqual(
      [
        ['a', undefined],
        ['b', 'a'],
        ['c', 'a'],
      ],
    );
  });

  it('asks where both have changed the name, each to another', () => {
    const content = (name: string): Content => ({
      name,
      description: '',
      items: [],
    });
    const merging = merge(content('a'), content('b'), content('c'));
    expect(merging.clashes).toEqual([
      { key: 'name', field: 'name', mine: 'b', theirs: 'c' },
    ]);
    expect(merging.resultOf(new Set()).name).toBe('b');
    expect(merging.resultOf(allOf(merging)).name).toBe('c');
  });
});
