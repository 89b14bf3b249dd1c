import type { LayoutItem } from 'backstage-plugin-mockup-common';
import * as fc from 'fast-check';
import { isSameContent } from './content';
import { DESCRIPTION, itemKey, merge, NAME } from './differences';
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
    .chain(some => fc.tuple(...some.map(someItem)) as fc.Arbitrary<Items>),
});
type Items = LayoutItem[];

const byId = ({ items }: Content) => new Map(items.map(each => [each.i, each]));
const isSame = (a: unknown, b: unknown) =>
  JSON.stringify(a) === JSON.stringify(b);
/** Without its row, which others push down. */
const rowless = (item: LayoutItem | undefined) => item && { ...item, y: 0 };
const allOf = (result: ReturnType<typeof merge>) =>
  new Set([NAME, DESCRIPTION, ...result.clashes.map(({ i }) => itemKey(i))]);

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

function overlaps(items: readonly LayoutItem[]): string[] {
  return items.flatMap((a, index) =>
    items
      .slice(index + 1)
      .filter(
        b =>
          a.x < b.x + b.w &&
          b.x < a.x + a.w &&
          a.y < b.y + b.h &&
          b.y < a.y + a.h,
      )
      .map(b => `${a.i} ${b.i}`),
  );
}

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
          expect(ids.map(i => rowless(r.get(i)))).toEqual(
            ids.map(i => rowless(expected(i))),
          );
          expect(result.items).toHaveLength(r.size);
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
        expect(isSameContent(mine.resultOf(new Set()), changed)).toBe(true);
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
        (before, mine, theirs, decide) => {
          const base = edited([], before);
          const merging = merge(
            contentOf(base),
            contentOf(edited(base, mine)),
            contentOf(edited(base, theirs)),
          );
          const decided = [...allOf(merging)].filter(key => decide(key));
          const { items } = merging.resultOf(new Set(decided));
          expect(overlaps(items)).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('asks where both have changed the name, each to another', () => {
    const content = (name: string): Content => ({
      name,
      description: '',
      items: [],
    });
    const merging = merge(content('a'), content('b'), content('c'));
    expect(merging.clashesInName).toBe(true);
    expect(merging.resultOf(new Set()).name).toBe('b');
    expect(merging.resultOf(new Set([NAME])).name).toBe('c');
  });
});
