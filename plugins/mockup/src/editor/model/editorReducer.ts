import { MOCKUP_LIMITS, type LayoutItem } from 'backstage-plugin-mockup-common';
import { type Box, boxOf } from '../../components/grid';
import { insertItems, type Items, moveItems, resizeItems } from './grid';

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
  /** Adds items, whose ids are new, and selects them. */
  | { type: 'add'; items: Items }
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
  /** Has other content, such as that of raw JSON, or of somebody else. */
  | { type: 'replace'; content: Content }
  | { type: 'undo' }
  | { type: 'redo' };

const NONE: ReadonlySet<string> = new Set();

export function openContent(content: Content): EditorState {
  return { content, selection: NONE, past: [], future: [] };
}

/** Does what a user asks. The state stays the same object where that changes nothing. */
export function editorReducer(
  state: EditorState,
  action: EditorAction,
): EditorState {
  const { content, selection } = state;
  const { items } = content;
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
    case 'add':
      return action.items.length === 0 || !hasRoom(items, action.items)
        ? state
        : change(
            state,
            { ...content, items: insertItems(items, action.items) },
            { selection: new Set(action.items.map(({ i }) => i)) },
          );
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
      return change(state, action.content, {
        selection: keepExisting(selection, action.content.items),
      });
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
  return items.length + added.length <= MOCKUP_LIMITS.layoutItems;
}

/** The items that are selected, in the order of the layout. */
export function selectedItems(state: EditorState): LayoutItem[] {
  return state.content.items.filter(({ i }) => state.selection.has(i));
}

function stepOf({ content, selection }: Step): Step {
  return { content, selection };
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
  return items === state.content.items
    ? state
    : change(state, { ...state.content, items }, options);
}

function change(
  state: EditorState,
  content: Content,
  options: { selection?: ReadonlySet<string>; burst?: string },
): EditorState {
  const { selection = state.selection, burst } = options;
  const joins = burst !== undefined && burst === state.burst;
  return {
    content,
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
