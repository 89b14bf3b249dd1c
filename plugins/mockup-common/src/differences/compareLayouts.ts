import { allItems, type PlacedItem, withoutItems } from '../containers';
import type { LayoutItem } from '../schemas/layoutItem';
import { isEqualJson } from './isEqualJson';

/**
 * What became of one item between two layouts.
 *
 * @public
 */
export interface ItemDifference {
  /** The `i` of the item. */
  i: string;
  /** The `i` of the container that it is in, in the second layout unless it was removed. */
  within?: string;
  /** Whether it is in the second layout only, in the first only, or differs. */
  change: 'added' | 'removed' | 'changed';
  /** The item in the first layout, unless it was added. */
  before?: LayoutItem;
  /** The item in the second layout, unless it was removed. */
  after?: LayoutItem;
  /** Set if `x`, `y` or the container of a changed item differ. */
  moved?: true;
  /** Set if `w` or `h` of a changed item differ. */
  resized?: true;
  /** Set if the component type of a changed item differs. */
  component?: true;
  /** Set if the properties of a changed item differ, except for the items that it holds. */
  props?: true;
  /** Set if any other field of a changed item differs, such as `static`. */
  other?: true;
}

/**
 * Compares two layouts item by item. Items correspond by their `i`, wherever they are
 * in the list, and in whichever container. One that only changed its place in the list does not
 * differ: on the grid it is where it was.
 *
 * @returns the items that differ: those removed, in the order of the first layout, and then those
 * added or changed, in the order of the second
 * @public
 */
export function compareLayouts(
  before: LayoutItem[],
  after: LayoutItem[],
): ItemDifference[] {
  const [olds, nows] = [allItems(before), allItems(after)];
  const from = new Map(olds.map(placed => [placed.item.i, placed]));
  const to = new Map(nows.map(placed => [placed.item.i, placed]));
  const items: ItemDifference[] = [];
  for (const { item, ...place } of olds) {
    if (!to.has(item.i)) {
      items.push({ i: item.i, ...place, change: 'removed', before: item });
    }
  }
  for (const now of nows) {
    const { item, ...place } = now;
    const old = from.get(item.i);
    if (!old) {
      items.push({ i: item.i, ...place, change: 'added', after: item });
    } else if (
      old.within !== now.within ||
      !isEqualJson(withoutItems(old.item), withoutItems(item))
    ) {
      items.push(describeChange(old, now));
    }
  }
  return items;
}

function describeChange(before: PlacedItem, after: PlacedItem): ItemDifference {
  const { i, x, y, w, h, component, props, ...other } = withoutItems(
    before.item,
  );
  const { i: _i, x: left, y: top, ...rest } = withoutItems(after.item);
  const { w: width, h: height, ...more } = rest;
  const { component: newComponent, props: newProps, ...newOther } = more;
  const isElsewhere = before.within !== after.within;
  return {
    i,
    ...(after.within !== undefined && { within: after.within }),
    change: 'changed',
    before: before.item,
    after: after.item,
    ...((x !== left || y !== top || isElsewhere) && { moved: true }),
    ...((w !== width || h !== height) && { resized: true }),
    ...(component !== newComponent && { component: true }),
    ...(!isEqualJson(props, newProps) && { props: true }),
    ...(!isEqualJson(other, newOther) && { other: true }),
  };
}
