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

/** What two people have changed, each to something else: a text of the mockup, or an item. */
type Clash = { key: string } & (
  | { field: Field; mine: string; theirs: string }
  | { i: string; mine?: LayoutItem; theirs?: LayoutItem }
);

const FIELDS = ['name', 'description'] as const;
type Field = (typeof FIELDS)[number];

/** What two people have made of the same. */
export interface Merge {
  clashes: Clash[];
  /** The result, with the clashes of these keys decided for theirs. */
  resultOf(theirs: ReadonlySet<string>): Content;
}

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
  const clashesOfItems = [...theirChanges.values()].flatMap(their => {
    const { i, after } = their;
    const my = myChanges.get(i);
    return my && !isSameChange(my, their)
      ? [{ key: `item ${i}`, i, mine: my.after, theirs: after }]
      : [];
  });
  const clashes: Clash[] = [
    ...FIELDS.filter(
      field =>
        mine[field] !== base[field] &&
        theirs[field] !== base[field] &&
        mine[field] !== theirs[field],
    ).map(field => ({
      ...{ key: field, field },
      ...{ mine: mine[field], theirs: theirs[field] },
    })),
    ...clashesOfItems,
  ];
  const keyOfItem = new Map(clashesOfItems.map(({ i, key }) => [i, key]));

  return {
    clashes,
    resultOf(decided) {
      const takesTheirs = (i: string) => {
        const key = keyOfItem.get(i);
        return theirChanges.has(i) && (key === undefined || decided.has(key));
      };
      const textOf = (field: Field) =>
        mine[field] === base[field] || decided.has(field)
          ? theirs[field]
          : mine[field];
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
        name: textOf('name'),
        description: textOf('description'),
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
