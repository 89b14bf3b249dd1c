import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { memo, useReducer } from 'react';
import { GridItem } from 'react-grid-layout';
import { ComponentView, INERT } from '../../components/ComponentView';
import { boxOf, GRID } from '../../components/grid';
import { isMovable, isSizable } from '../model/grid';
import styles from '../editor.module.css';
import type { Gestures } from './useGestures';

/**
 * One item of the canvas, as an option of its list box. It is drawn again only where something
 * of it changes: there may be a thousand of them.
 */
export const CanvasItem = memo(function MemoizedCanvasItem(props: {
  item: LayoutItem;
  /** What an item is called where it is read out. */
  labelOf: (item: LayoutItem) => string;
  /** Of the canvas, in pixels. */
  width: number;
  isSelected: boolean;
  /** Whether the focus comes to it when it comes to the canvas. */
  isCurrent: boolean;
  isReadOnly: boolean;
  /** Whether it takes in what is dragged, once that is dropped. */
  isTarget: boolean;
  /** Which of how many items it is, where not all are drawn. */
  position: number | undefined;
  count: number;
  gestures: Gestures;
}) {
  const { item, labelOf, width, isSelected, isCurrent, isReadOnly } = props;
  const { isTarget, position, count, gestures } = props;
  const { i } = item;
  const box = boxOf(item);
  // The grid item keeps where the pointer is, but is drawn by its parent.
  const [, redraw] = useReducer((times: number) => times + 1, 0);
  const takesGestures = !isReadOnly && (isSelected || !gestures.isByTouch);
  return (
    <GridItem
      {...box}
      i={i}
      cols={GRID.cols}
      containerWidth={width}
      margin={GRID.margin}
      containerPadding={GRID.margin}
      rowHeight={GRID.rowHeight}
      maxRows={Infinity}
      minW={item.minW}
      maxW={item.maxW}
      minH={item.minH}
      maxH={item.maxH}
      static={item.static}
      isDraggable={takesGestures && isMovable(item)}
      isResizable={takesGestures && isSizable(item)}
      isBounded={false}
      dragThreshold={3}
      resizeHandles={item.resizeHandles ?? ['se']}
      onDragStart={() => gestures.startMove(i)}
      onDrag={(_, x, y, { e }) => {
        gestures.moveTo(x, y, e);
        redraw();
      }}
      onDragStop={gestures.stop}
      onResizeStart={() => gestures.startResize(i)}
      onResize={(_, w, h, { handle }) => {
        gestures.resizeTo(w, h, handle);
        redraw();
      }}
      onResizeStop={gestures.stop}
    >
      {/* The list box around it has the keys. */}
      {/* eslint-disable-next-line jsx-a11y/click-events-have-key-events */}
      <div
        id={elementId(i)}
        data-item={i}
        data-target={isTarget || undefined}
        role="option"
        aria-selected={isSelected}
        aria-label={labelOf(item)}
        aria-posinset={position}
        aria-setsize={position === undefined ? undefined : count}
        tabIndex={isCurrent ? 0 : -1}
        className={isSelected ? styles.selected : styles.item}
        onPointerDown={event => gestures.press(i, event)}
        onClick={event => gestures.click(i, event)}
        onDoubleClick={() => gestures.open(i)}
        onFocus={() => gestures.focus(i)}
      >
        <div className={styles.piece} {...INERT}>
          <ComponentView component={item.component} props={item.props} />
        </div>
      </div>
    </GridItem>
  );
});

/** The id of the element of an item. */
export function elementId(i: string): string {
  return `mockup-item-${encodeURIComponent(i)}`;
}
