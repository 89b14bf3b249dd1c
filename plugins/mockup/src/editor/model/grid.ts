import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { type Box, boxOf, GRID, inOrder } from '../../components/grid';

/** A layout that nothing changes. */
export type Items = readonly LayoutItem[];

/** Boxes by column, so that a thousand items are not each compared with each other. */
class Columns {
  readonly #columns: Box[][] = Array.from({ length: GRID.cols }, () => []);

  add(box: Box): void {
    for (let x = box.x; x < box.x + box.w; x++) {
      this.#columns[x].push(box);
    }
  }

  /** The row below the boxes that this one lies on; nothing where there are none. */
  rowBelow(box: Box): number | undefined {
    let below: number | undefined;
    for (let x = box.x; x < box.x + box.w; x++) {
      for (const other of this.#columns[x]) {
        if (other.y < box.y + box.h && box.y < other.y + other.h) {
          below = Math.max(below ?? 0, other.y + other.h);
        }
      }
    }
    return below;
  }
}

/** The row below all items. */
export function bottomOf(items: Items): number {
  return items.reduce((bottom, { y, h }) => Math.max(bottom, y + h), 0);
}

export function isMovable(item: LayoutItem): boolean {
  return item.isDraggable ?? !item.static;
}

export function isSizable(item: LayoutItem): boolean {
  return item.isResizable ?? !item.static;
}

/**
 * Moves items together, as far as the grid goes. What they come to lie on goes down; static
 * items stay, and what would lie on them goes below.
 *
 * @returns the same list where nothing moves
 */
export function moveItems(
  items: Items,
  ids: ReadonlySet<string>,
  dx: number,
  dy: number,
): Items {
  const moving = items.filter(item => ids.has(item.i) && isMovable(item));
  const boxes = moving.map(boxOf);
  const stepX = clamp(
    dx,
    -Math.min(...boxes.map(({ x }) => x)),
    Math.min(...boxes.map(({ x, w }) => GRID.cols - x - w)),
  );
  const stepY = Math.max(dy, -Math.min(...boxes.map(({ y }) => y)));
  if (moving.length === 0 || (stepX === 0 && stepY === 0)) {
    return items;
  }
  const moved = new Map(
    boxes.map((box, index) => [
      moving[index].i,
      { ...box, x: box.x + stepX, y: box.y + stepY },
    ]),
  );
  return place(items, moved);
}

/**
 * Gives items another place and size, within the grid and the items' own limits; what they
 * come to lie on goes down.
 *
 * @returns the same list where nothing changes
 */
export function resizeItems(
  items: Items,
  wanted: ReadonlyMap<string, Box>,
): Items {
  const boxes = new Map<string, Box>();
  for (const item of items) {
    const box = wanted.get(item.i);
    if (box && isSizable(item)) {
      boxes.set(item.i, withinLimits(item, box));
    }
  }
  const changes = items.some(item => {
    const box = boxes.get(item.i);
    return box && !isSame(boxOf(item), box);
  });
  return changes ? place(items, spread(boxes)) : items;
}

function withinLimits(item: LayoutItem, wanted: Box): Box {
  const x = clamp(wanted.x, 0, GRID.cols - 1);
  const w = clamp(wanted.w, item.minW ?? 1, item.maxW ?? GRID.cols);
  return {
    x,
    y: Math.max(wanted.y, 0),
    w: clamp(w, 1, GRID.cols - x),
    h: Math.max(1, clamp(wanted.h, item.minH ?? 1, item.maxH ?? Infinity)),
  };
}

/** Those that have grown into each other go below each other. */
function spread(boxes: ReadonlyMap<string, Box>): ReadonlyMap<string, Box> {
  const placed = new Columns();
  const next = new Map<string, Box>();
  for (const [id, box] of [...boxes].sort(([, a], [, b]) => inOrder(a, b))) {
    const lower = lowered(box, placed);
    next.set(id, lower);
    placed.add(lower);
  }
  return next;
}

/** Adds items where they say; what is there already goes down. */
export function insertItems(items: Items, added: Items): Items {
  return place(
    [...items, ...added],
    new Map(added.map(item => [item.i, boxOf(item)])),
  );
}

/**
 * Puts items where the boxes say, and what is below them further down. Items that only
 * overlapped before, as the API allows, stay as they are.
 */
export function place(items: Items, boxes: ReadonlyMap<string, Box>): Items {
  const obstacles = new Columns();
  for (const item of items) {
    if (item.static && !boxes.has(item.i)) {
      obstacles.add(boxOf(item));
    }
  }
  const shift = rowsToClear([...boxes.values()], obstacles);
  const next = new Map<string, Box>();
  const changed = new Columns();
  for (const [id, box] of boxes) {
    const placed = { ...box, y: box.y + shift };
    next.set(id, placed);
    changed.add(placed);
  }

  const others = items
    .filter(item => !boxes.has(item.i) && !item.static)
    .sort(inOrder);
  for (const item of others) {
    const box = boxOf(item);
    if (changed.rowBelow(box) !== undefined) {
      const lower = lowered(box, changed, obstacles);
      next.set(item.i, lower);
      changed.add(lower);
    }
  }
  return items.map(item => {
    const box = next.get(item.i);
    return box && !isSame(item, box) ? { ...item, ...box } : item;
  });
}

/** The box, as far down as it lies on nothing. */
function lowered(box: Box, ...occupied: Columns[]): Box {
  let lower = box;
  for (;;) {
    const at = lower;
    const below = occupied
      .map(columns => columns.rowBelow(at))
      .find(row => row !== undefined);
    if (below === undefined) {
      return lower;
    }
    lower = { ...lower, y: below };
  }
}

/** How far boxes go down together until none of them lies on an obstacle. */
function rowsToClear(boxes: readonly Box[], obstacles: Columns): number {
  let shift = 0;
  for (let index = 0; index < boxes.length; ) {
    const box = { ...boxes[index], y: boxes[index].y + shift };
    const below = obstacles.rowBelow(box);
    if (below === undefined) {
      index += 1;
    } else {
      shift += below - box.y;
      index = 0;
    }
  }
  return shift;
}

function isSame(a: Box, b: Box): boolean {
  return a.x === b.x && a.y === b.y && a.w === b.w && a.h === b.h;
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}
