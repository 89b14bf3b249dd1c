import {
  allItems,
  compareLayouts,
  isEqualJson,
  type ItemDifference,
  type LayoutItem,
  type PlacedItem,
  withoutItems,
} from 'backstage-plugin-mockup-common';
import { boxOf } from '../../components/grid';
import type { Content } from './editorReducer';
import type { Items } from './grid';
import { treeOf } from './treeOf';

/** How two layouts differ, item by item. */
export function differencesOf(before: Items, after: Items): ItemDifference[] {
  return compareLayouts([...before], [...after]).items;
}

/** What two people have changed of the same. */
export interface Merge {
  /** Items that both have changed, each to something else. */
  clashes: { i: string; mine?: LayoutItem; theirs?: LayoutItem }[];
  clashesInName: boolean;
  clashesInDescription: boolean;
  /** The result, with these of the clashes decided for theirs. */
  resultOf(theirs: ReadonlySet<string>): Content;
}

/** The keys of a merge's decisions that are no items: an item's begins with `item `. */
export const NAME = 'name';
export const DESCRIPTION = 'description';
export const itemKey = (i: string) => `item ${i}`;

/**
 * Merges what two people have made of the same. What only one has changed is in the result. What
 * theirs puts on mine pushes it down, as an item does that is added.
 */
export function merge(base: Content, mine: Content, theirs: Content): Merge {
  const theirChanges = new Map(
    differencesOf(base.items, theirs.items).map(each => [each.i, each]),
  );
  const myChanges = new Map(
    differencesOf(base.items, mine.items).map(each => [each.i, each]),
  );
  const clashes = [...theirChanges.values()].flatMap(their => {
    const { i, after } = their;
    const my = myChanges.get(i);
    return my && !isSameChange(my, their)
      ? [{ i, mine: my.after, theirs: after }]
      : [];
  });
  const clashing = new Set(clashes.map(({ i }) => i));
  const clashesIn = (field: 'name' | 'description') =>
    mine[field] !== base[field] &&
    theirs[field] !== base[field] &&
    mine[field] !== theirs[field];
  const fieldOf = (field: 'name' | 'description', isTheirs: boolean) => {
    const changed = mine[field] === base[field] ? theirs : mine;
    return (clashesIn(field) && isTheirs ? theirs : changed)[field];
  };

  return {
    clashes,
    clashesInName: clashesIn('name'),
    clashesInDescription: clashesIn('description'),
    resultOf(decided) {
      const takesTheirs = (i: string) =>
        theirChanges.has(i) && (!clashing.has(i) || decided.has(itemKey(i)));
      const mineById = byId(mine.items);
      const theirsById = byId(theirs.items);
      const kept = [...mineById].flatMap(([i, placed]) => {
        const next = takesTheirs(i) ? theirsById.get(i) : placed;
        return next ? [next] : [];
      });
      const added = [...theirsById.values()].filter(
        ({ item: { i } }) => !mineById.has(i) && takesTheirs(i),
      );
      const isPlacedByThem = ({ item: { i } }: PlacedItem) =>
        takesTheirs(i) && !isSamePlace(mineById.get(i), theirsById.get(i));
      const items = treeOf(
        [...kept, ...added],
        myChanges.size > 0 ? isPlacedByThem : () => false,
      );
      return {
        name: fieldOf('name', decided.has(NAME)),
        description: fieldOf('description', decided.has(DESCRIPTION)),
        items,
      };
    },
  };
}

function byId(items: Items): Map<string, PlacedItem> {
  return new Map(allItems(items).map(placed => [placed.item.i, placed]));
}

function isSameChange(mine: ItemDifference, theirs: ItemDifference): boolean {
  const [my, their] = [mine.after, theirs.after].map(
    item => item && withoutItems(item),
  );
  return mine.within === theirs.within && isEqualJson(my, their);
}

function isSamePlace(a?: PlacedItem, b?: PlacedItem): boolean {
  return (
    a?.within === b?.within &&
    isEqualJson(a && boxOf(a.item), b && boxOf(b.item))
  );
}
