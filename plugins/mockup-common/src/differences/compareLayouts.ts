import type { LayoutItem } from '../types';
import {
  createJsonPatch,
  isEqualJson,
  type JsonPatchOperation,
} from './jsonPatch';

/**
 * What became of one item between two layouts.
 *
 * @public
 */
export interface ItemDifference {
  /** The `i` of the item. */
  i: string;
  /** Whether it is in the second layout only, in the first only, or differs. */
  change: 'added' | 'removed' | 'changed';
  /** The item in the first layout, unless it was added. */
  before?: LayoutItem;
  /** The item in the second layout, unless it was removed. */
  after?: LayoutItem;
  /** Set if `x` or `y` of a changed item differ. */
  moved?: true;
  /** Set if `w` or `h` of a changed item differ. */
  resized?: true;
  /** Set if the component type of a changed item differs. */
  component?: true;
  /** Set if the properties of the component of a changed item differ. */
  props?: true;
  /** Set if any other field of a changed item differs, such as `static`. */
  other?: true;
}

/**
 * The differences between two layouts.
 *
 * @public
 */
export interface LayoutDifference {
  /**
   * The items that differ: those removed, in the order of the first layout, and then those
   * added or changed, in the order of the second.
   */
  items: ItemDifference[];
  /**
   * A JSON Patch (RFC 6902) that turns the list of items of the first layout into that of the second,
   * the order of the items included.
   */
  patch: JsonPatchOperation[];
}

/**
 * The differences between two versions of a mockup.
 *
 * @public
 */
export interface VersionDifference extends LayoutDifference {
  /** The id of the first version. */
  from: string;
  /** The id of the second version. */
  to: string;
}

/**
 * Compares two layouts item by item. Items correspond by their `i`, wherever they are
 * in the list.
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
  const from = byKey(before);
  const to = byKey(after);

  const items: ItemDifference[] = [];
  for (const [key, item] of from) {
    if (!to.has(key)) {
      items.push({ i: item.i, change: 'removed', before: item });
    }
  }
  const changes: JsonPatchOperation[] = [];
  let index = 0;
  for (const [key, item] of to) {
    const old = from.get(key);
    if (!old) {
      items.push({ i: item.i, change: 'added', after: item });
    } else if (!isEqualJson(old, item)) {
      items.push(describeChange(old, item));
      createJsonPatch(old, item, `/${index}`).forEach(operation =>
        changes.push(operation),
      );
    }
    index += 1;
  }
  return { items, patch: [...arrange(from, to), ...changes] };
}

/**
 * Items by what identifies them: their `i`, and where a draft that nobody has checked has one twice,
 * how often it came before.
 */
function byKey(items: LayoutItem[]): Map<string, LayoutItem> {
  const found = new Map<string, LayoutItem>();
  for (const item of items) {
    let occurrence = 0;
    while (found.has(`${occurrence}:${item.i}`)) {
      occurrence += 1;
    }
    found.set(`${occurrence}:${item.i}`, item);
  }
  return found;
}

function describeChange(before: LayoutItem, after: LayoutItem): ItemDifference {
  const { i, x, y, w, h, component, props, ...other } = before;
  const { i: _i, x: left, y: top, w: width, h: height, ...rest } = after;
  const { component: newComponent, props: newProps, ...newOther } = rest;
  return {
    i,
    change: 'changed',
    before,
    after,
    ...((x !== left || y !== top) && { moved: true }),
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
