import type { LayoutItem } from 'backstage-plugin-mockup-common';
import * as fc from 'fast-check';
import { isSameContent } from './content';
import { DESCRIPTION, itemKey, merge, NAME } from './differences';
import type { Content } from './editorReducer';

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
const allOf = (result: ReturnType<typeof merge>) =>
  new Set([NAME, DESCRIPTION, ...result.clashes.map(({ i }) => itemKey(i))]);

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
          expect(ids.map(i => r.get(i))).toEqual(ids.map(expected));
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
