import {
  isContainer,
  itemsWithin,
  MOCKUP_LIMITS,
  type LayoutItem,
  withItems,
} from 'backstage-plugin-mockup-common';
import { type Box, boxOf } from '../../components/grid';
import {
  bottomOf,
  insertItems,
  type Items,
  moveItems,
  resizeItems,
} from './grid';
import {
  containersTo,
  countOf,
  isShallowEnough,
  itemsAt,
  type Level,
  withItemsAt,
} from './levels';

/** How many steps can be undone. */
const MOST_STEPS = 1000;

/** What is edited, and saved. */
export interface Content {
  name: string;
  description: string;
  items: Items;
}

interface Step {
  content: Content;
  /** Where the selection is, and what is done is done. */
  level: Level;
  selection: ReadonlySet<string>;
}

/** The editor of one mockup, without anything that a browser has part in. */
export interface EditorState extends Step {
  past: readonly Step[];
  future: readonly Step[];
  /** What the last step was part of; more of the same joins it. */
  burst?: string;
}

/** What a user does. */
export type EditorAction =
  | { type: 'select'; ids: Iterable<string> }
  | { type: 'toggle'; id: string }
  | { type: 'selectAll' }
  /** Goes into a container, or out to the page. */
  | { type: 'open'; level: Level }
  /** Puts the selection into a container beside it, below what that holds. */
  | { type: 'moveInto'; id: string }
  /** Puts the selection into a level around it, below the container there that it was in. */
  | { type: 'moveOut'; to: Level }
  /** Adds items, whose ids are new, and selects them, or the container here that takes them in. */
  | { type: 'add'; items: Items; into?: string }
  | { type: 'remove' }
  /** Moves the selection. @param burst - joins it to the last step, if that has the same */
  | { type: 'move'; dx: number; dy: number; burst?: string }
  /** Changes the size of what is selected. */
  | { type: 'resize'; dw: number; dh: number; burst?: string }
  /** Gives one item a place and size. */
  | { type: 'place'; id: string; box: Box }
  | {
      type: 'props';
      id: string;
      props: Record<string, unknown>;
      burst?: string;
    }
  | { type: 'describe'; name?: string; description?: string }
  /** Replaces the content, such as by raw JSON or by what another user has saved. */
  | { type: 'replace'; content: Content }
  | { type: 'undo' }
  | { type: 'redo' };

const NONE: ReadonlySet<string> = new Set();

export function openContent(content: Content): EditorState {
  return { content, level: undefined, selection: NONE, past: [], future: [] };
}

/** Does what a user asks. The state stays the same object where that changes nothing. */
export function editorReducer(
  state: EditorState,
  action: EditorAction,
): EditorState {
  const { content, selection } = state;
  const items = levelItems(state);
  switch (action.type) {
    case 'select':
      return select(state, new Set(action.ids));
    case 'toggle': {
      const next = new Set(selection);
      if (!next.delete(action.id)) {
        next.add(action.id);
      }
      return select(state, next);
    }
    case 'selectAll':
      return select(state, new Set(items.map(({ i }) => i)));
    case 'open':
      return openLevel(state, action.level);
    case 'moveInto':
      return moveInto(state, action.id);
    case 'moveOut':
      return moveOut(state, action.to);
    case 'add':
      return hasRoom(content.items, action.items)
        ? add(state, action.items, action.into)
        : state;
    case 'remove':
      return changeItems(
        state,
        selection.size === 0
          ? items
          : items.filter(({ i }) => !selection.has(i)),
        { selection: NONE },
      );
    case 'move':
      return changeItems(
        state,
        moveItems(items, selection, action.dx, action.dy),
        action,
      );
    case 'resize':
      return changeItems(
        state,
        resizeSelection(items, selection, action.dw, action.dh),
        action,
      );
    case 'place':
      return changeItems(
        state,
        resizeItems(items, new Map([[action.id, action.box]])),
      );
    case 'props': {
      const { id, props } = action;
      return items.some(({ i }) => i === id)
        ? changeItems(
            state,
            items.map(item => (item.i === id ? { ...item, props } : item)),
            action,
          )
        : state;
    }
    case 'describe': {
      const { name = content.name, description = content.description } = action;
      return name === content.name && description === content.description
        ? state
        : change(
            state,
            { ...content, name, description },
            {
              burst: action.name === undefined ? 'description' : 'name',
            },
          );
    }
    case 'replace':
      return change(state, action.content, whereItWas(state, action.content));
    case 'undo':
      return travel(state, state.past, (past, step) => ({
        ...step,
        past,
        future: [...state.future, stepOf(state)],
      }));
    case 'redo':
      return travel(state, state.future, (future, step) => ({
        ...step,
        past: [...state.past, stepOf(state)],
        future,
      }));
    default:
      return state;
  }
}

/** Whether a layout takes more items. */
export function hasRoom(items: Items, added: Items): boolean {
  return countOf(items) + countOf(added) <= MOCKUP_LIMITS.layoutItems;
}

/** The items that are edited: those of the page, or of the container that is open. */
export function levelItems({ content, level }: EditorState): Items {
  return itemsAt(content.items, level);
}

/** The items that are selected, in the order of the layout. */
export function selectedItems(state: EditorState): LayoutItem[] {
  return levelItems(state).filter(({ i }) => state.selection.has(i));
}

function stepOf({ content, level, selection }: Step): Step {
  return { content, level, selection };
}

/** Goes to a level that there is. Going out, the container is selected that was left. */
function openLevel(state: EditorState, level: Level): EditorState {
  const { items } = state.content;
  const isThere =
    level === undefined || containersTo(items, level).some(isContainer);
  if (!isThere || level === state.level) {
    return state;
  }
  const left = containersTo(items, state.level).map(({ i }) => i);
  return {
    ...state,
    level,
    selection: keepExisting(new Set(left), itemsAt(items, level)),
    burst: undefined,
  };
}

function add(state: EditorState, added: Items, into?: string): EditorState {
  const items = levelItems(state);
  if (into !== undefined) {
    return fill(state, items, into, added);
  }
  return added.length > 0 &&
    isShallowEnough(state.content.items, state.level, added)
    ? changeItems(state, insertItems(items, added), {
        selection: new Set(added.map(({ i }) => i)),
      })
    : state;
}

function moveInto(state: EditorState, id: string): EditorState {
  const moved = selectedItems(state).filter(({ i }) => i !== id);
  const ids = new Set(moved.map(({ i }) => i));
  const others = levelItems(state).filter(({ i }) => !ids.has(i));
  return fill(state, others, id, moved);
}

/**
 * Puts items into a container, below what that holds.
 *
 * @param items - the container, and what else there is at its level
 */
function fill(
  state: EditorState,
  items: Items,
  id: string,
  added: Items,
): EditorState {
  const container = items.find(({ i }) => i === id);
  if (
    !container ||
    !isContainer(container) ||
    added.length === 0 ||
    !isShallowEnough(state.content.items, id, added)
  ) {
    return state;
  }
  const within = itemsWithin(container);
  const next = withItems(
    container,
    insertItems(within, atRow(added, bottomOf(within))),
  );
  return changeItems(
    state,
    items.map(item => (item.i === id ? next : item)),
    { selection: new Set([id]) },
  );
}

function moveOut(state: EditorState, to: Level): EditorState {
  const { content, level, selection } = state;
  const moved = selectedItems(state);
  const containers = containersTo(content.items, level);
  const around = containers.findIndex(({ i }) => i === to);
  const container = containers[around + 1];
  const isThere = to === undefined || around >= 0;
  if (!isThere || !container || moved.length === 0) {
    return state;
  }
  const left = withItemsAt(
    content.items,
    level,
    levelItems(state).filter(({ i }) => !selection.has(i)),
  );
  const next = insertItems(
    itemsAt(left, to),
    atRow(moved, container.y + container.h),
  );
  return change(
    state,
    { ...content, items: withItemsAt(left, to, next) },
    { level: to, selection },
  );
}

/** Items as they lie to each other, from a row on. */
function atRow(items: Items, row: number): LayoutItem[] {
  const top = Math.min(...items.map(({ y }) => y));
  return items.map(item => ({ ...item, y: item.y - top + row }));
}

/** The level and what is selected there, as far as other content has them. */
function whereItWas({ level, selection }: Step, { items }: Content) {
  const isThere = containersTo(items, level).some(isContainer);
  const kept = isThere ? level : undefined;
  return {
    level: kept,
    selection: keepExisting(selection, itemsAt(items, kept)),
  };
}

function select(
  state: EditorState,
  selection: ReadonlySet<string>,
): EditorState {
  const isSame =
    selection.size === state.selection.size &&
    [...selection].every(id => state.selection.has(id));
  return isSame ? state : { ...state, selection, burst: undefined };
}

function changeItems(
  state: EditorState,
  items: Items,
  options: { selection?: ReadonlySet<string>; burst?: string } = {},
): EditorState {
  const { content, level } = state;
  return items === levelItems(state)
    ? state
    : change(
        state,
        { ...content, items: withItemsAt(content.items, level, items) },
        options,
      );
}

function change(
  state: EditorState,
  content: Content,
  options: { selection?: ReadonlySet<string>; burst?: string } & {
    level?: Level;
  },
): EditorState {
  const { selection = state.selection, burst } = options;
  const joins = burst !== undefined && burst === state.burst;
  return {
    content,
    level: 'level' in options ? options.level : state.level,
    selection,
    past: joins
      ? state.past
      : [...state.past, stepOf(state)].slice(-MOST_STEPS),
    future: [],
    burst,
  };
}

function travel(
  state: EditorState,
  steps: readonly Step[],
  go: (rest: readonly Step[], step: Step) => EditorState,
): EditorState {
  const step = steps[steps.length - 1];
  return step ? go(steps.slice(0, -1), step) : state;
}

function resizeSelection(
  items: Items,
  selection: ReadonlySet<string>,
  dw: number,
  dh: number,
): Items {
  const wanted = new Map<string, Box>();
  for (const item of items) {
    if (selection.has(item.i)) {
      const { x, y, w, h } = boxOf(item);
      wanted.set(item.i, {
        x,
        y,
        // Not beyond the grid: at its edge an item gets no wider.
        w: Math.max(1, w + dw),
        h: Math.max(1, h + dh),
      });
    }
  }
  return resizeItems(items, wanted);
}

function keepExisting(selection: ReadonlySet<string>, items: Items) {
  return new Set(items.map(({ i }) => i).filter(id => selection.has(id)));
}
