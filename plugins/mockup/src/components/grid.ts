import { type LayoutItem, phonePlaceOf } from 'backstage-plugin-mockup-common';

/** The grid of a mockup, as react-grid-layout counts it. */
export const GRID = {
  cols: 12,
  /** Pixels. */
  rowHeight: 30,
  /** Pixels between items, and around all of them. */
  margin: [10, 10] as const,
};

/** Where an item is and how large. */
export type Box = Pick<LayoutItem, 'x' | 'y' | 'w' | 'h'>;

/**
 * Where an item is drawn: the API takes columns beyond the grid's, and the grid has twelve.
 */
export function boxOf({ x, y, w, h }: Box): Box {
  const width = Math.min(w, GRID.cols);
  return { x: Math.min(x, GRID.cols - width), y, w: width, h };
}

/** Row by row, and from left to right. */
export function inOrder(a: Box, b: Box): number {
  return a.y - b.y || a.x - b.x;
}

/** Items as people read them. */
export function readingOrder(items: readonly LayoutItem[]): LayoutItem[] {
  return [...items].sort(inOrder);
}

/** Items in the order of a phone, those without one at the end, as people read them. */
export function phoneOrder(items: readonly LayoutItem[]): LayoutItem[] {
  const orderOf = (item: LayoutItem) => phonePlaceOf(item).order ?? Infinity;
  return readingOrder(items).sort((a, b) =>
    // Infinity less itself is no number.
    orderOf(a) === orderOf(b) ? 0 : orderOf(a) - orderOf(b),
  );
}

// The API takes any row and height. A drawing of that height would be useless.
const TALLEST = 500;
const EMPTY_ROWS = 100;

/**
 * Where items are drawn to be looked at, from top to bottom: longer runs of empty rows are
 * cut, and so are taller items.
 */
export function drawnBoxes<TItem extends Box>(
  items: readonly TItem[],
): { item: TItem; box: Box }[] {
  let bottom = 0;
  let cut = 0;
  return [...items].sort(inOrder).map(item => {
    const box = boxOf(item);
    cut += Math.max(0, box.y - cut - bottom - EMPTY_ROWS);
    const y = box.y - cut;
    const h = Math.min(box.h, TALLEST);
    bottom = Math.max(bottom, y + h);
    return { item, box: { ...box, y, h } };
  });
}
