import { allItems, type PlacedItem, withoutItems } from '../containers';
import type {
  ItemDifference,
  JsonPatchOperation,
  LayoutDifference,
} from '../schemas/difference';
import type { LayoutItem } from '../schemas/layoutItem';
import { isEqualJson } from './isEqualJson';

/**
 * Compares two layouts item by item. Items correspond by their `i`, wherever they are
 * in the list, and in whichever container.
 *
 * @remarks
 *
 * The patch removes, adds and moves items, and replaces those of their fields that differ, `props` as a
 * whole. An item that only changed its place in the list is moved by the patch,
 * and not among `items`: on the grid it is where it was.
 *
 * @public
 */
export function compareLayouts(
  before: LayoutItem[],
  after: LayoutItem[],
): LayoutDifference {
  return {
    items: compareItems(allItems(before), allItems(after)),
    patch: [...arrange(before, after), ...changeFields(before, after)],
  };
}

function compareItems(
  before: PlacedItem[],
  after: PlacedItem[],
): ItemDifference[] {
  const from = new Map(before.map(placed => [placed.item.i, placed]));
  const to = new Map(after.map(placed => [placed.item.i, placed]));
  const items: ItemDifference[] = [];
  for (const { item, ...place } of before) {
    if (!to.has(item.i)) {
      items.push({ i: item.i, ...place, change: 'removed', before: item });
    }
  }
  for (const now of after) {
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

/**
 * Removes, adds and moves whole items, so that each is at the index that it has
 * in the second layout.
 */
function arrange(
  before: LayoutItem[],
  after: LayoutItem[],
): JsonPatchOperation[] {
  const operations: JsonPatchOperation[] = [];
  const staying = new Set(after.map(({ i }) => i));
  const names = before.map(({ i }) => i);
  for (let index = names.length - 1; index >= 0; index -= 1) {
    if (!staying.has(names[index])) {
      names.splice(index, 1);
      operations.push({ op: 'remove', path: `/${index}` });
    }
  }
  after.forEach((value, index) => {
    const current = names.indexOf(value.i, index);
    const path = `/${index}`;
    if (current < 0) {
      operations.push({ op: 'add', path, value });
    } else if (current > index) {
      names.splice(current, 1);
      operations.push({ op: 'move', from: `/${current}`, path });
    } else {
      return;
    }
    names.splice(index, 0, value.i);
  });
  return operations;
}

/** Changes the fields that differ of the items that both layouts have. */
function changeFields(
  before: LayoutItem[],
  after: LayoutItem[],
): JsonPatchOperation[] {
  const olds = new Map(before.map(item => [item.i, fieldsOf(item)]));
  return after.flatMap((item, index) => {
    const old = olds.get(item.i);
    if (!old) {
      return [];
    }
    const now = fieldsOf(item);
    return [...new Set([...old.keys(), ...now.keys()])].flatMap(
      (field): JsonPatchOperation[] => {
        const path = `/${index}/${field}`;
        const value = now.get(field);
        if (value === undefined) {
          return [{ op: 'remove', path }];
        }
        if (isEqualJson(old.get(field), value)) {
          return [];
        }
        return [{ op: old.has(field) ? 'replace' : 'add', path, value }];
      },
    );
  });
}

/** A member that is `undefined` counts as missing, as it does in JSON. */
function fieldsOf(item: LayoutItem): Map<string, unknown> {
  return new Map(
    Object.entries(item).filter(([, value]) => value !== undefined),
  );
}
