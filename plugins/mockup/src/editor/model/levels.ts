import {
  allItems,
  itemsWithin,
  isContainer,
  type LayoutItem,
  MOCKUP_LIMITS,
  withItems,
} from 'backstage-plugin-mockup-common';
import type { Items } from './grid';

/** What is edited at a time: the page, or what the container with this id holds. */
export type Level = string | undefined;

/** The containers around a level, the outermost first, with its own at the end. */
export function containersTo(items: Items, level: Level): LayoutItem[] {
  const placed = new Map(allItems(items).map(each => [each.item.i, each]));
  const path: LayoutItem[] = [];
  for (
    let at = level === undefined ? undefined : placed.get(level);
    at;
    at = at.within === undefined ? undefined : placed.get(at.within)
  ) {
    path.unshift(at.item);
  }
  return path;
}

/** The items of a level. */
export function itemsAt(items: Items, level: Level): Items {
  if (level === undefined) {
    return items;
  }
  const container = containersTo(items, level).at(-1);
  return container ? itemsWithin(container) : [];
}

/** The layout with other items at a level. What is elsewhere stays the same object. */
export function withItemsAt(items: Items, level: Level, next: Items): Items {
  if (level === undefined) {
    return next;
  }
  const path = containersTo(items, level);
  return path.reduceRight((inner, container, depth) => {
    const around = depth === 0 ? items : itemsWithin(path[depth - 1]);
    return around.map(item =>
      item.i === container.i ? withItems(item, inner) : item,
    );
  }, next);
}

/** How many items there are, those within containers included. */
export function countOf(items: Items): number {
  return allItems(items).length;
}

/** Whether items fit into a level: containers are in each other only so deep. */
export function isShallowEnough(
  items: Items,
  level: Level,
  added: Items,
): boolean {
  const height = Math.max(0, ...added.map(heightOf));
  return (
    containersTo(items, level).length + height <= MOCKUP_LIMITS.containerDepth
  );
}

/** How many containers are within each other. */
function heightOf(item: LayoutItem): number {
  return isContainer(item)
    ? 1 + Math.max(0, ...itemsWithin(item).map(heightOf))
    : 0;
}
