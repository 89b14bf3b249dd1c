import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { type DragEvent, useState } from 'react';
import { calcGridItemPosition, calcXY } from 'react-grid-layout';
import { type Box, boxOf } from '../../components/grid';
import { insertItems, type Items } from '../model/grid';
import { positionParams } from './positionParams';

/** Takes what is dragged from the palette, and shows meanwhile what makes room for it. */
export function useDrop(options: {
  items: Items;
  width: number;
  dragged: LayoutItem | undefined;
  onDrop: (item: LayoutItem) => void;
}) {
  const { items, width, dragged, onDrop } = options;
  const [at, setAt] = useState<Pick<Box, 'x' | 'y'>>();
  const item = dragged && at && { ...dragged, ...at };
  const next = item && insertItems(items, [item]);
  const placed = next?.find(({ i }) => i === item?.i);

  const cellOf = (event: DragEvent<HTMLElement>, { w, h }: LayoutItem) => {
    const params = positionParams(width);
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const size = calcGridItemPosition(params, 0, 0, w, h);
    // The pointer is in its middle, but no lower than its first rows.
    return calcXY(
      params,
      event.clientY - top - Math.min(size.height / 2, 20),
      event.clientX - left - size.width / 2,
      w,
      h,
    );
  };
  return {
    /** The items with room for what is dragged, while it is over the canvas. */
    items: next?.filter(({ i }) => i !== item?.i),
    /** Where it would lie. */
    box: placed && boxOf(placed),
    handlers: {
      onDragOver(event: DragEvent<HTMLElement>) {
        if (!dragged) {
          return;
        }
        event.preventDefault();
        event.dataTransfer.dropEffect = 'copy';
        const cell = cellOf(event, dragged);
        setAt(last => (last?.x === cell.x && last.y === cell.y ? last : cell));
      },
      onDragLeave(event: DragEvent<HTMLElement>) {
        const { currentTarget, relatedTarget } = event;
        if (
          !(relatedTarget instanceof Node) ||
          !currentTarget.contains(relatedTarget)
        ) {
          setAt(undefined);
        }
      },
      onDrop(event: DragEvent<HTMLElement>) {
        if (!dragged) {
          return;
        }
        event.preventDefault();
        setAt(undefined);
        onDrop({ ...dragged, ...cellOf(event, dragged) });
      },
    },
  };
}
