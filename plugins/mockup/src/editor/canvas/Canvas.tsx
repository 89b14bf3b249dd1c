import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Text } from '@backstage/ui';
import { isContainer, type LayoutItem } from 'backstage-plugin-mockup-common';
import {
  type CSSProperties,
  type Dispatch,
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { calcGridItemPosition, useContainerWidth } from 'react-grid-layout';
import 'react-grid-layout/css/styles.css';
import { type Box, boxOf, GRID, readingOrder } from '../../components/grid';
import { useWords } from '../../history/difference/useWords';
import { mockupTranslationRef } from '../../translation';
import styles from '../editor.module.css';
import {
  type EditorAction,
  type EditorState,
  levelItems,
} from '../model/editorReducer';
import { bottomOf, type Items } from '../model/grid';
import { CanvasItem, elementId } from './CanvasItem';
import { dropAt } from './dropTarget';
import { positionParams } from './positionParams';
import { useDrop } from './useDrop';
import { useGestures } from './useGestures';
import { useVisibleItems } from './useVisibleItems';

/** Empty rows below the last item, to drop something on. */
const SPARE_ROWS = 6;

const STEPS: Record<string, { dx: number; dy: number } | undefined> = {
  ArrowLeft: { dx: -1, dy: 0 },
  ArrowRight: { dx: 1, dy: 0 },
  ArrowUp: { dx: 0, dy: -1 },
  ArrowDown: { dx: 0, dy: 1 },
};

/** What has the focus next, where something else than the canvas decides. */
export interface FocusRequest {
  id: string | undefined;
}

/**
 * The layout, to be edited: a list box whose options are the items. The arrow keys move what is
 * selected, or the focus while nothing is.
 */
export function Canvas(props: {
  state: EditorState;
  dispatch: Dispatch<EditorAction>;
  isReadOnly: boolean;
  /** What is dragged from the palette, as an item. */
  dragged: LayoutItem | undefined;
  /** @param into - the container that it is dropped on, if it is one */
  onDrop: (item: LayoutItem, into?: string) => void;
  /** Shows the properties of the selection. */
  onOpen: () => void;
  /** Goes into a container. */
  onEnter: (container: LayoutItem) => void;
  /** Goes out of the container that is open, if one is. */
  onLeave: () => void;
  focusRequest: FocusRequest | undefined;
}) {
  const { state, dispatch, isReadOnly, focusRequest } = props;
  const { onOpen, onEnter, onLeave } = props;
  const items = levelItems(state);
  const { labelOf } = useWords();
  const { t } = useTranslationRef(mockupTranslationRef);
  const { width, containerRef } = useContainerWidth();
  // Typed for React 19.
  const container = containerRef as RefObject<HTMLDivElement>;
  const [currentId, setCurrentId] = useState<string>();
  const hadFocus = useRef(false);
  const open = (id: string) => {
    const item = items.find(({ i }) => i === id);
    if (item && isContainer(item)) {
      onEnter(item);
    } else {
      dispatch({ type: 'select', ids: [id] });
      onOpen();
    }
  };
  const { gestures, drag, cancel } = useGestures({
    state,
    dispatch,
    dropAt: (event, ids) =>
      container.current
        ? dropAt(event, { canvas: container.current, ids, state })
        : undefined,
    onOpen: open,
    onFocus: setCurrentId,
  });
  const drop = useDrop({
    state,
    width,
    dragged: isReadOnly ? undefined : props.dragged,
    onDrop: props.onDrop,
  });
  const shown = drag?.items ?? drop.items ?? items;

  const order = useMemo(() => readingOrder(items), [items]);
  const current = items.some(({ i }) => i === currentId)
    ? currentId
    : order[0]?.i;
  const visible = useVisibleItems({
    items: shown,
    always: [current, drag?.id],
    canvas: container,
  });
  const areAllDrawn = visible.length === shown.length;
  const positions = useMemo(
    () =>
      areAllDrawn
        ? undefined
        : new Map(order.map(({ i }, index) => [i, index + 1])),
    [areAllDrawn, order],
  );

  const wanted = useRef<FocusRequest>();
  const focusWanted = () => {
    const { id } = wanted.current ?? {};
    const element = id && document.getElementById(elementId(id));
    if (element) {
      element.focus();
      element.scrollIntoView?.({ block: 'nearest', inline: 'nearest' });
    } else if (id !== undefined && items.some(({ i }) => i === id)) {
      // It is out of sight, and drawn next because the focus comes to it.
      return;
    } else if (wanted.current) {
      container.current?.focus();
    }
    wanted.current = undefined;
  };
  const focus = (id: string | undefined) => {
    wanted.current = { id };
    setCurrentId(id);
    focusWanted();
  };
  useEffect(() => {
    if (focusRequest) {
      focus(focusRequest.id);
    }
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [focusRequest]);
  useEffect(() => {
    focusWanted();
    // What had the focus is gone: it was removed, or a step was undone.
    if (hadFocus.current && document.activeElement === document.body) {
      focus(current);
    }
  });

  const focusNext = (by: number) => {
    const at = order.findIndex(({ i }) => i === current);
    focus(order[Math.max(0, Math.min(at + by, order.length - 1))]?.i);
  };
  const focusAfterRemoval = () => {
    const at = order.findIndex(({ i }) => i === current);
    const isLeft = ({ i }: LayoutItem) => !state.selection.has(i);
    setCurrentId(
      (
        order.slice(at).find(isLeft) ??
        order.slice(0, at).reverse().find(isLeft)
      )?.i,
    );
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    const isCommand = event.ctrlKey || event.metaKey;
    if (event.altKey) {
      return;
    }
    if (drag && event.key === 'Escape') {
      cancel();
    } else if (step && (isCommand || state.selection.size === 0)) {
      focusNext(step.dx + step.dy);
    } else if (step && isReadOnly) {
      return;
    } else if (step) {
      const burst = event.repeat ? `held ${event.key}` : undefined;
      dispatch(
        event.shiftKey
          ? { type: 'resize', dw: step.dx, dh: step.dy, burst }
          : { type: 'move', ...step, burst },
      );
    } else if (event.key === 'Home') {
      focus(order[0]?.i);
    } else if (event.key === 'End') {
      focus(order[order.length - 1]?.i);
    } else if (event.key === ' ' && current !== undefined) {
      dispatch({ type: 'toggle', id: current });
    } else if (event.key === 'Enter' && isCommand && current !== undefined) {
      open(current);
    } else if (event.key === 'Enter' && current !== undefined) {
      if (!state.selection.has(current)) {
        dispatch({ type: 'select', ids: [current] });
      }
      onOpen();
    } else if (event.key === 'Escape' && state.selection.size === 0) {
      onLeave();
    } else if (event.key === 'Escape') {
      dispatch({ type: 'select', ids: [] });
    } else if (
      (event.key === 'Delete' || event.key === 'Backspace') &&
      !isReadOnly
    ) {
      focusAfterRemoval();
      dispatch({ type: 'remove' });
    } else {
      return;
    }
    event.preventDefault();
  };

  const isTakenIn = ['moveInto', 'moveOut'].includes(drag?.action?.type ?? '');
  const targetId =
    drag?.action?.type === 'moveInto' ? drag.action.id : drop.into;
  const draggedBox = drag && !isTakenIn && shown.find(({ i }) => i === drag.id);
  return (
    <div className={styles.scroller}>
      <div
        ref={container}
        role="listbox"
        aria-label={t('editor.canvas.label')}
        aria-multiselectable
        aria-describedby="mockup-canvas-help"
        tabIndex={items.length === 0 ? 0 : -1}
        className={styles.canvas}
        style={{ height: heightOf(shown) }}
        onKeyDown={onKeyDown}
        onFocus={() => {
          hadFocus.current = true;
        }}
        onBlur={event => {
          // Nothing gets the focus where the element that had it is removed.
          hadFocus.current =
            event.relatedTarget === null && !event.target.isConnected;
        }}
        onPointerDown={event => {
          if (event.target === event.currentTarget && !event.shiftKey) {
            dispatch({ type: 'select', ids: [] });
          }
        }}
        {...drop.handlers}
      >
        {visible.map(item => (
          <CanvasItem
            key={item.i}
            item={item}
            labelOf={labelOf}
            width={width}
            isSelected={state.selection.has(item.i)}
            isCurrent={item.i === current}
            isReadOnly={isReadOnly}
            isTarget={item.i === targetId}
            position={positions?.get(item.i)}
            count={items.length}
            gestures={gestures}
          />
        ))}
        {draggedBox && <Placeholder box={boxOf(draggedBox)} width={width} />}
        {drop.box && <Placeholder box={drop.box} width={width} />}
      </div>
      {items.length === 0 && !drop.box && (
        <Text as="p" color="secondary" className={styles.emptyCanvas}>
          {t('editor.canvas.empty')}
        </Text>
      )}
    </div>
  );
}

function Placeholder({ box, width }: { box: Box; width: number }) {
  const { left, top, ...size } = calcGridItemPosition(
    positionParams(width),
    box.x,
    box.y,
    box.w,
    box.h,
  );
  const style: CSSProperties = {
    ...size,
    transform: `translate(${left}px, ${top}px)`,
  };
  return <div className={styles.placeholder} style={style} />;
}

function heightOf(items: Items): number {
  const [, margin] = GRID.margin;
  return (bottomOf(items) + SPARE_ROWS) * (GRID.rowHeight + margin) + margin;
}
