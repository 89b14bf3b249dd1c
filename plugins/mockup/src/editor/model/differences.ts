import {
  compareLayouts,
  type ItemDifference,
  type LayoutItem,
} from 'backstage-plugin-mockup-common';
import { boxOf } from '../../components/grid';
import type { Content } from './editorReducer';
import { isSameValue } from './content';
import { type Items, place } from './grid';

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
  const clashes = [...theirChanges.values()].flatMap(({ i, after }) => {
    const my = myChanges.get(i);
    return my && !isSameValue(my.after, after)
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
      const ofTheirs = new Map(theirs.items.map(item => [item.i, item]));
      const kept = mine.items.flatMap(item => {
        const next = takesTheirs(item.i) ? ofTheirs.get(item.i) : item;
        return next ? [next] : [];
      });
      const ofMine = new Map(mine.items.map(item => [item.i, boxOf(item)]));
      const added = theirs.items.filter(
        ({ i }) => !ofMine.has(i) && takesTheirs(i),
      );
      const placed = theirs.items
        .filter(
          item =>
            takesTheirs(item.i) &&
            !isSameValue(ofMine.get(item.i), boxOf(item)),
        )
        .map(item => [item.i, boxOf(item)] as const);
      const items = [...kept, ...added];
      return {
        name: fieldOf('name', decided.has(NAME)),
        description: fieldOf('description', decided.has(DESCRIPTION)),
        items: myChanges.size > 0 ? place(items, new Map(placed)) : items,
      };
    },
  };
}
