import { isEqualJson, type ResizeHandle } from 'backstage-plugin-mockup-common';
import { type Dispatch, useMemo, useRef, useState } from 'react';
import { type Box, boxOf } from '../../components/grid';
import {
  type EditorAction,
  type EditorState,
  levelItems,
} from '../model/editorReducer';
import { type Items, moveItems, resizeItems } from '../model/grid';

/** What is pressed while something is clicked. */
interface Keys {
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
}

/** What is done with a pointer on the items of a canvas. It is the same object for good. */
export interface Gestures {
  /** Whether fingers scroll the page, and move only what is selected. */
  isByTouch: boolean;
  press(id: string, keys: Keys): void;
  click(id: string, keys: Keys): void;
  open(id: string): void;
  focus(id: string): void;
  startMove(id: string): void;
  /** @param event - that of the pointer, which may be over what takes the item in */
  moveTo(x: number, y: number, event: Event): void;
  startResize(id: string): void;
  resizeTo(w: number, h: number, handle: ResizeHandle): void;
  stop(): void;
}

/** A drag under way: how the items are meanwhile, and what it comes to. */
export interface Drag {
  id: string;
  /** What is dragged with it. */
  ids: ReadonlySet<string>;
  origin: Box;
  items: Items;
  action?: EditorAction;
}

/**
 * Selects, moves and resizes items by a pointer. While something is dragged the items are
 * computed from those at its start, so that what was pushed away comes back; one step is done
 * at the end.
 */
export function useGestures(options: {
  state: EditorState;
  dispatch: Dispatch<EditorAction>;
  /** What becomes of items that are dropped where the pointer is, other than moving there. */
  dropAt: (event: Event, ids: ReadonlySet<string>) => EditorAction | undefined;
  onOpen: (id: string) => void;
  onFocus: (id: string) => void;
}): { gestures: Gestures; drag: Drag | undefined; cancel: () => void } {
  const latest = useRef(options);
  latest.current = options;
  const [drag, setDrag] = useState<Drag>();

  const { gestures, cancel } = useMemo(() => {
    let current: Drag | undefined;
    let wasDragged = false;
    const show = (next: Drag | undefined) => {
      current = next;
      setDrag(next);
    };
    const start = (id: string) => {
      const { state, dispatch } = latest.current;
      const items = levelItems(state);
      const item = items.find(({ i }) => i === id);
      wasDragged = true;
      if (!item) {
        return;
      }
      const isSelected = state.selection.has(id);
      if (!isSelected) {
        dispatch({ type: 'select', ids: [id] });
      }
      show({
        id,
        ids: isSelected ? state.selection : new Set([id]),
        origin: boxOf(item),
        items,
      });
    };
    const isByTouch = window.matchMedia?.('(pointer: coarse)').matches ?? false;
    const created: Gestures = {
      isByTouch,
      press(id, keys) {
        const { state, dispatch } = latest.current;
        wasDragged = false;
        if (!isAdding(keys) && !state.selection.has(id) && !isByTouch) {
          dispatch({ type: 'select', ids: [id] });
        }
      },
      click(id, keys) {
        if (wasDragged) {
          return;
        }
        latest.current.dispatch(
          isAdding(keys)
            ? { type: 'toggle', id }
            : { type: 'select', ids: [id] },
        );
      },
      open: id => latest.current.onOpen(id),
      focus: id => latest.current.onFocus(id),
      startMove: start,
      moveTo(x, y, event) {
        if (!current) {
          return;
        }
        const { ids, origin, action: last } = current;
        const dx = x - origin.x;
        const dy = y - origin.y;
        const items = levelItems(latest.current.state);
        const drop = latest.current.dropAt(event, ids);
        const action = drop ?? { type: 'move', dx, dy };
        if (!isEqualJson(action, last)) {
          show({
            ...current,
            items: drop ? items : moveItems(items, ids, dx, dy),
            action,
          });
        }
      },
      startResize: start,
      resizeTo(w, h, handle) {
        if (!current) {
          return;
        }
        const { id, origin, action: last } = current;
        if (last?.type !== 'place' || last.box.w !== w || last.box.h !== h) {
          const box = {
            x: handle.includes('w') ? origin.x + origin.w - w : origin.x,
            y: handle.includes('n') ? origin.y + origin.h - h : origin.y,
            w,
            h,
          };
          const items = levelItems(latest.current.state);
          show({
            ...current,
            items: resizeItems(items, new Map([[id, box]])),
            action: { type: 'place', id, box },
          });
        }
      },
      stop() {
        const action = current?.action;
        show(undefined);
        if (action) {
          latest.current.dispatch(action);
        }
      },
    };
    return { gestures: created, cancel: () => show(undefined) };
  }, []);
  return { gestures, drag, cancel };
}

function isAdding({ shiftKey, ctrlKey, metaKey }: Keys): boolean {
  return shiftKey || ctrlKey || metaKey;
}
