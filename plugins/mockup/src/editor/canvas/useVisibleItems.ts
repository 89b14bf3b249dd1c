import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { type RefObject, useLayoutEffect, useMemo, useState } from 'react';
import { GRID } from '../../components/grid';
import type { Items } from '../model/grid';

/** Up to so many items are all drawn, wherever they are. */
const FEW_ITEMS = 100;

/** So many rows are drawn together. */
const BAND = 20;

const ROW_HEIGHT = GRID.rowHeight + GRID.margin[1];

/**
 * The items that are in sight or near it, and those of the given ids: a thousand are too many to
 * draw them all at each step.
 */
export function useVisibleItems(options: {
  items: Items;
  /** What is drawn in any case, such as what has the focus. */
  always: readonly (string | undefined)[];
  canvas: RefObject<HTMLElement>;
}): readonly LayoutItem[] {
  const { items, always, canvas } = options;
  const isFew = items.length <= FEW_ITEMS;
  const [bands, setBands] = useState({ first: 0, last: 2 });

  useLayoutEffect(() => {
    if (isFew) {
      return undefined;
    }
    const measure = () => {
      if (!canvas.current) {
        return;
      }
      const { top } = canvas.current.getBoundingClientRect();
      const bandAt = (y: number) => Math.floor((y - top) / ROW_HEIGHT / BAND);
      const first = bandAt(-window.innerHeight / 2);
      const last = bandAt(window.innerHeight * 1.5);
      setBands(now =>
        now.first === first && now.last === last ? now : { first, last },
      );
    };
    measure();
    // Whatever scrolls it.
    window.addEventListener('scroll', measure, {
      capture: true,
      passive: true,
    });
    window.addEventListener('resize', measure);
    return () => {
      window.removeEventListener('scroll', measure, { capture: true });
      window.removeEventListener('resize', measure);
    };
  }, [isFew, canvas]);

  return useMemo(() => {
    if (isFew) {
      return items;
    }
    const from = bands.first * BAND;
    const to = (bands.last + 1) * BAND;
    return items.filter(
      ({ i, y, h }) => (y < to && from < y + h) || always.includes(i),
    );
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [items, isFew, bands, ...always]);
}
