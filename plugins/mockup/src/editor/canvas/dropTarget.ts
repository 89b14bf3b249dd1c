import { isContainer } from 'backstage-plugin-mockup-common';
import { boxOf, GRID } from '../../components/grid';
import {
  type EditorAction,
  type EditorState,
  levelItems,
} from '../model/editorReducer';
import type { Items } from '../model/grid';
import { isShallowEnough, type Level } from '../model/levels';

const ATTRIBUTE = 'data-level';

/** Marks an element of which the items of a level are dropped on to come there. */
export function levelAttribute(level: Level): Record<string, string> {
  return { [ATTRIBUTE]: level ?? '' };
}

/** Where a mouse or finger is. */
type Point = Pick<MouseEvent, 'clientX' | 'clientY'>;

/**
 * What takes items in that are dropped where the pointer is: the name of a level around them, or a
 * container beside them.
 */
export function dropAt(
  event: Event,
  options: {
    canvas: HTMLElement;
    /** What is dragged. */
    ids: ReadonlySet<string>;
    state: EditorState;
  },
): EditorAction | undefined {
  const { canvas, ids, state } = options;
  const point = pointOf(event);
  if (!point) {
    return undefined;
  }
  // The item is between the pointer and what is below it. On the page no name is shown: where
  // things are is asked for only where it matters, since that takes time in a large layout.
  const named =
    state.level !== undefined &&
    document
      .elementsFromPoint?.(point.clientX, point.clientY)
      .map(element => element.closest(`[${ATTRIBUTE}]`))
      .find(Boolean);
  if (named) {
    const to = named.getAttribute(ATTRIBUTE) || undefined;
    return { type: 'moveOut', to };
  }
  const dragged = levelItems(state).filter(({ i }) => ids.has(i));
  const id = containerAt(point, { canvas, dragged, state });
  return id === undefined ? undefined : { type: 'moveInto', id };
}

/**
 * The container that takes items in that are dropped at a point. Over the first row of a container
 * they make room instead.
 */
export function containerAt(
  point: Point,
  options: { canvas: HTMLElement; dragged: Items; state: EditorState },
): string | undefined {
  const { canvas, dragged, state } = options;
  const ids = new Set(dragged.map(({ i }) => i));
  const containers = levelItems(state).filter(
    item => isContainer(item) && !ids.has(item.i),
  );
  if (containers.length === 0) {
    return undefined;
  }
  const { left, top, width } = canvas.getBoundingClientRect();
  const column = ((point.clientX - left) / width) * GRID.cols;
  const row = (point.clientY - top) / (GRID.rowHeight + GRID.margin[1]);
  const target = containers.find(item => {
    const { x, y, w, h } = boxOf(item);
    return x < column && column < x + w && y + 1 < row && row < y + h;
  });
  return target && isShallowEnough(state.content.items, target.i, dragged)
    ? target.i
    : undefined;
}

function pointOf(event: Event): Point | undefined {
  if ('touches' in event) {
    return (event as TouchEvent).touches[0];
  }
  return 'clientX' in event ? (event as MouseEvent) : undefined;
}
