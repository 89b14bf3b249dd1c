import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { boxOf } from '../components/grid';

/** The pairs of items that lie on each other. */
export function overlapsIn(items: readonly LayoutItem[]): string[] {
  const boxes = items.map(each => ({ i: each.i, ...boxOf(each) }));
  return boxes.flatMap((a, index) =>
    boxes
      .slice(index + 1)
      .filter(
        b =>
          a.x < b.x + b.w &&
          b.x < a.x + a.w &&
          a.y < b.y + b.h &&
          b.y < a.y + a.h,
      )
      .map(b => `${a.i} ${b.i}`),
  );
}
