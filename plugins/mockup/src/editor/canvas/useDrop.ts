import { isEqualJson, type LayoutItem } from 'backstage-plugin-mockup-common';
import { type DragEvent, useState } from 'react';
import { calcGridItemPosition, calcXY } from 'react-grid-layout';
import { type Box, boxOf } from '../../components/grid';
import { type EditorState, levelItems } from '../model/editorReducer';
import { insertItems } from '../model/grid';
import { containerAt } from './dropTarget';
import { positionParams } from './positionParams';

/** Where the pointer is: over a container that takes the item in, or at a cell that makes room. */
type Target = { into: string } | ({ into?: undefined } & Pick<Box, 'x' | 'y'>);

/** Takes what is dragged from the palette, and shows meanwhile where it comes. */
export function useDrop(options: {
  state: EditorState;
  width: number;
  dragged: LayoutItem | undefined;
  /** @param into - the container that it is dropped on, if it is one */
  onDrop: (item: LayoutItem, into?: string) => void;
}) {
  const { state, width, dragged, onDrop } = options;
  const [target, setTarget] = useState<Target>();
  const into = dragged && target?.into;
  const item =
    dragged && target && into === undefined
      ? { ...dragged, ...target }
      : undefined;
  const next = item && insertItems(levelItems(state), [item]);
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
  const targetOf = (
    event: DragEvent<HTMLElement>,
    over: LayoutItem,
  ): Target => {
    const canvas = event.currentTarget;
    const container = containerAt(event, { canvas, dragged: [over], state });
    return container === undefined ? cellOf(event, over) : { into: container };
  };
  return {
    /** The items with room for what is dragged, while it is over the canvas. */
    items: next?.filter(({ i }) => i !== item?.i),
    /** Where it would lie. */
    box: placed && boxOf(placed),
    /** The container that takes it in. */
    into,
    handlers: {
      onDragOver(event: DragEvent<HTMLElement>) {
        if (!dragged) {
          return;
        }
        event.preventDefault();
        event.dataTransfer.dropEffect = 'copy';
        const found = targetOf(event, dragged);
        setTarget(last => (isEqualJson(last, found) ? last : found));
      },
      onDragLeave(event: DragEvent<HTMLElement>) {
        const { currentTarget, relatedTarget } = event;
        if (
          !(relatedTarget instanceof Node) ||
          !currentTarget.contains(relatedTarget)
        ) {
          setTarget(undefined);
        }
      },
      onDrop(event: DragEvent<HTMLElement>) {
        if (!dragged) {
          return;
        }
        event.preventDefault();
        setTarget(undefined);
        const { into: container, ...cell } = targetOf(event, dragged);
        onDrop({ ...dragged, ...cell }, container);
      },
    },
  };
}
