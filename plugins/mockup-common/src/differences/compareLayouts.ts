import { allItems, type PlacedItem, withoutItems } from '../containers';
import type {
  ItemDifference,
  JsonPatchOperation,
  LayoutDifference,
} from '../schemas/difference';
import type { LayoutItem } from '../schemas/layoutItem';
import { createJsonPatch, isEqualJson } from './jsonPatch';

/**
 * Compares two layouts item by item. Items correspond by their `i`, wherever they are
 * in the list, and in whichever container.
 *
 * @remarks
 *
 * The patch removes and moves items instead of writing them anew, and writes into an item
 * only what differs. An item that only changed its place in the list is moved by the patch,
 * and not among `items`: on the grid it is where it was.
 *
 * Props may have members named `__proto__`. The values of the patch have them too, but libraries
 * lose them where they copy a value by assignment, as rfc6902 does.
 *
 * @public
 */
export function compareLayouts(
  before: LayoutItem[],
  after: LayoutItem[],
): LayoutDifference {
  return {
    items: compareItems(allItems(before), allItems(after)),
    patch: createPatch(before, after),
  };
}

function compareItems(
  before: PlacedItem[],
  after: PlacedItem[],
): ItemDifference[] {
  const from = byKey(before, ({ item }) => item.i);
  const to = byKey(after, ({ item }) => item.i);
  const items: ItemDifference[] = [];
  for (const [key, { item, ...place }] of from) {
    if (!to.has(key)) {
      items.push({ i: item.i, ...place, change: 'removed', before: item });
    }
  }
  for (const [key, now] of to) {
    const { item, ...place } = now;
    const old = from.get(key);
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

function createPatch(
  before: LayoutItem[],
  after: LayoutItem[],
): JsonPatchOperation[] {
  const from = byKey(before, ({ i }) => i);
  const to = byKey(after, ({ i }) => i);
  const changes: JsonPatchOperation[] = [];
  let index = 0;
  for (const [key, item] of to) {
    const old = from.get(key);
    if (old && !isEqualJson(old, item)) {
      createJsonPatch(old, item, `/${index}`).forEach(operation =>
        changes.push(operation),
      );
    }
    index += 1;
  }
  return [...arrange(from, to), ...changes];
}

/**
 * Items by what identifies them: their `i`, and where a draft that nobody has checked has one twice,
 * how often it came before.
 */
function byKey<TItem>(
  items: TItem[],
  nameOf: (item: TItem) => string,
): Map<string, TItem> {
  const found = new Map<string, TItem>();
  for (const item of items) {
    const name = nameOf(item);
    let occurrence = 0;
    while (found.has(`${occurrence}:${name}`)) {
      occurrence += 1;
    }
    found.set(`${occurrence}:${name}`, item);
  }
  return found;
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

/**
 * Removes, adds and moves whole items, so that each is at the index that it has
 * in the second layout. It moves as few as possible: those outside a longest run of items that keep
 * their order stay aside, and go behind their new predecessor one after the other.
 */
function arrange(
  from: Map<string, LayoutItem>,
  to: Map<string, LayoutItem>,
): JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = [];
  const keys = [...from.keys()];
  for (let index = keys.length - 1; index >= 0; index -= 1) {
    if (!to.has(keys[index])) {
      keys.splice(index, 1);
      operations.push({ op: 'remove', path: `/${index}` });
    }
  }

  const indexAfter = new Map([...to.keys()].map((key, index) => [key, index]));
  const staying = new Set(
    longestIncreasing(keys.map(key => indexAfter.get(key) ?? 0)),
  );
  let end = 0;
  let index = 0;
  for (const [key, value] of to) {
    if (staying.has(index)) {
      end = keys.indexOf(key, end) + 1;
    } else if (!from.has(key)) {
      operations.push({ op: 'add', path: `/${end}`, value });
      keys.splice(end, 0, key);
      end += 1;
    } else {
      const current = keys.indexOf(key);
      keys.splice(current, 1);
      // It may have been before its predecessor, which then has moved up.
      const target = current < end ? end - 1 : end;
      if (target !== current) {
        operations.push({
          op: 'move',
          from: `/${current}`,
          path: `/${target}`,
        });
      }
      keys.splice(target, 0, key);
      end = target + 1;
    }
    index += 1;
  }
  return operations;
}

/** The values of a longest increasing subsequence of different numbers, in n log n. */
function longestIncreasing(values: number[]): number[] {
  /** By length minus one, the index of the least value that ends a run of that length. */
  const ends: number[] = [];
  const predecessors: number[] = [];
  values.forEach((value, index) => {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (values[ends[middle]] < value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    predecessors[index] = low > 0 ? ends[low - 1] : -1;
    ends[low] = index;
  });
  const run: number[] = [];
  let at = ends.at(-1) ?? -1;
  while (at >= 0) {
    run.push(values[at]);
    at = predecessors[at];
  }
  return run;
}
