import {
  allItems,
  itemsWithin,
  layoutSchema,
  type LayoutItem,
  withoutItems,
} from 'backstage-plugin-mockup-common';
import * as fc from 'fast-check';
import { overlapsIn } from '../../__testUtils__/overlaps';
import { GRID } from '../../components/grid';
import {
  type EditorAction,
  editorReducer,
  type EditorState,
  openContent,
} from './editorReducer';
import { type Items } from './grid';

const item = (i: string, x: number, y: number, w = 2, h = 2): LayoutItem => ({
  i,
  x,
  y,
  w,
  h,
  component: 'text',
  props: {},
});
const open = (...items: LayoutItem[]) =>
  openContent({ name: 'Start page', description: '', items });
const run = (state: EditorState, ...actions: EditorAction[]) =>
  actions.reduce(editorReducer, state);
const repeat = (times: number, action: EditorAction, state: EditorState) =>
  run(state, ...Array.from({ length: times }, () => action));
const placeOf = (state: EditorState) =>
  Object.fromEntries(
    state.content.items.map(({ i, x, y, w, h }) => [i, [x, y, w, h]]),
  );
const undo: EditorAction = { type: 'undo' };
const redo: EditorAction = { type: 'redo' };

/** The items that lie on each other, on the page or within the same container. */
function overlaps(items: Items): string[] {
  return [items, ...items.map(itemsWithin)].flatMap(overlapsIn);
}

const idsOf = (items: Items) => allItems(items).map(each => each.item.i);

const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
const someItem = (i: string) =>
  fc
    .record({
      x: fc.integer({ min: 0, max: 14 }),
      y: fc.integer({ min: 0, max: 12 }),
      w: fc.integer({ min: 1, max: 14 }),
      h: fc.integer({ min: 1, max: 5 }),
      static: fc.option(fc.boolean(), { nil: undefined }),
      minW: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
      maxH: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
    })
    .map(box => ({ i, component: 'text', props: {}, ...box }));
const sections = ['s', 't'];
/** Some items, with sections that hold others of them. */
const someItems = fc
  .subarray(ids)
  .chain(some =>
    fc.tuple(
      fc.tuple(...some.map(someItem)),
      fc.tuple(...sections.map(someItem)),
      fc.dictionary(fc.constantFrom(...ids), fc.constantFrom(...sections)),
    ),
  )
  .map(([some, around, homes]) => [
    ...some.filter(({ i }) => !homes[i]),
    ...around.map(each => ({
      ...each,
      component: 'container-section',
      props: { items: some.filter(({ i }) => homes[i] === each.i) },
    })),
  ]);
const step = fc.integer({ min: -5, max: 5 });
const someAction: fc.Arbitrary<EditorAction> = fc.oneof(
  fc.record({
    type: fc.constant('select' as const),
    ids: fc.subarray([...ids, ...sections]),
  }),
  fc.record({
    type: fc.constant('open' as const),
    level: fc.constantFrom(undefined, ...sections),
  }),
  fc.record({
    type: fc.constant('moveInto' as const),
    id: fc.constantFrom(...sections, ...ids),
  }),
  fc.record({
    type: fc.constant('moveOut' as const),
    to: fc.constantFrom(undefined, ...sections),
  }),
  fc.record({
    type: fc.constant('toggle' as const),
    id: fc.constantFrom(...ids),
  }),
  fc.constant<EditorAction>({ type: 'selectAll' }),
  fc.constant<EditorAction>({ type: 'remove' }),
  fc.record({
    type: fc.constant('add' as const),
    items: fc.tuple(fc.uuid().chain(someItem)),
    into: fc.constantFrom(undefined, ...sections, ...ids),
  }),
  fc.record(
    {
      type: fc.constant('move' as const),
      dx: step,
      dy: step,
      burst: fc.constant('held'),
    },
    { requiredKeys: ['type', 'dx', 'dy'] },
  ),
  fc.record({ type: fc.constant('resize' as const), dw: step, dh: step }),
  fc.record({
    type: fc.constant('place' as const),
    id: fc.constantFrom(...ids),
    box: fc.record({ x: step, y: step, w: step, h: step }),
  }),
  fc.record({
    type: fc.constant('props' as const),
    id: fc.constantFrom(...ids),
    props: fc.dictionary(fc.string(), fc.integer()),
    burst: fc.constant('typing'),
  }),
  fc.record(
    {
      type: fc.constant('describe' as const),
      name: fc.string(),
      description: fc.string(),
    },
    { requiredKeys: ['type'] },
  ),
  fc.constantFrom(undo, redo),
);

describe('an editor, whatever is done in it', () => {
  const anyRun = fc.tuple(someItems, fc.array(someAction, { maxLength: 20 }));

  const travels = ({ type }: EditorAction) =>
    type === 'undo' || type === 'redo';

  it('undoes every step, and does it again', () => {
    fc.assert(
      fc.property(anyRun, someAction, ([items, actions], action) => {
        const before = run(open(...items), ...actions);
        const after = editorReducer(before, action);
        // One that changes nothing is no step, and one that joins the last is undone with it.
        fc.pre(!travels(action) && after.past.length > before.past.length);
        const undone = editorReducer(after, undo);
        expect(undone.content).toBe(before.content);
        expect(undone.selection).toEqual(before.selection);
        expect(undone.level).toBe(before.level);
        expect(editorReducer(undone, redo).content).toBe(after.content);
      }),
    );
  });

  it('changes nothing without a step that is undone', () => {
    fc.assert(
      fc.property(anyRun, someAction, ([items, actions], action) => {
        const before = run(open(...items), ...actions);
        const after = editorReducer(before, action);
        fc.pre(!travels(action) && after.content !== before.content);
        const isStep = after.past.length > before.past.length;
        const joins =
          before.burst !== undefined && after.burst === before.burst;
        expect({ isStep, joins }).toEqual({ isStep: !joins, joins });
      }),
    );
  });

  it('comes back to what it was opened with, and to the end again', () => {
    fc.assert(
      fc.property(anyRun, ([items, actions]) => {
        const start = open(...items);
        const end = run(start, ...actions);
        const back = repeat(end.past.length, undo, end);
        expect(back.content).toEqual(start.content);
        const again = repeat(back.future.length, redo, back);
        const last = repeat(end.future.length, redo, end);
        expect(again.content).toEqual(last.content);
      }),
    );
  });

  it('leaves what the backend takes, with all that was not deleted', () => {
    fc.assert(
      fc.property(anyRun, ([items, actions]) => {
        const kept = actions.filter(({ type }) => type !== 'remove');
        const { content, level } = run(open(...items), ...kept);
        expect(layoutSchema.safeParse(content.items).error).toBeUndefined();
        const left = new Set(idsOf(content.items));
        const added = kept.flatMap(each =>
          each.type === 'add' ? idsOf(each.items) : [],
        );
        const lost = idsOf(items).filter(i => !left.has(i));
        expect(lost).toEqual([]);
        expect(left.size).toBeLessThanOrEqual(
          idsOf(items).length + added.length,
        );
        expect(level === undefined || left.has(level)).toBe(true);
      }),
    );
  });

  it('lays nothing on anything that it did not lie on before', () => {
    fc.assert(
      fc.property(anyRun, someAction, ([items, actions], action) => {
        const before = run(open(...items), ...actions);
        const known = new Set(overlaps(before.content.items));
        const after = editorReducer(before, action);
        fc.pre(!travels(action));
        expect(
          overlaps(after.content.items).filter(pair => !known.has(pair)),
        ).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it('keeps what it moves in the grid, and statics where they are', () => {
    fc.assert(
      fc.property(anyRun, ([items, actions]) => {
        const start = open(...items);
        const end = run(
          start,
          ...actions.filter(
            ({ type }) => !['props', 'moveInto', 'moveOut'].includes(type),
          ),
        );
        const ofItsOwn = (all: Items) =>
          allItems(all).map(each => withoutItems(each.item));
        const before = new Map(ofItsOwn(items).map(each => [each.i, each]));
        const known = ofItsOwn(end.content.items).filter(({ i }) =>
          before.has(i),
        );
        const statics = known.filter(each => each.static);
        expect(statics).toEqual(statics.map(({ i }) => before.get(i)));
        const changed = known.filter(
          each => JSON.stringify(before.get(each.i)) !== JSON.stringify(each),
        );
        expect(
          changed.filter(
            ({ x, y, w, h }) =>
              x < 0 || y < 0 || w < 1 || h < 1 || x + w > GRID.cols,
          ),
        ).toEqual([]);
      }),
    );
  });

  it('shares the items that a step leaves alone', () => {
    const start = open(item('a', 0, 0), item('b', 4, 0));
    const end = run(
      start,
      { type: 'select', ids: ['a'] },
      { type: 'move', dx: 1, dy: 0 },
    );
    expect(end.content.items[1]).toBe(start.content.items[1]);
  });
});

describe('moving', () => {
  it('takes all that is selected, as far as the grid goes', () => {
    const state = run(
      open(item('a', 1, 0), item('b', 4, 3)),
      { type: 'selectAll' },
      { type: 'move', dx: -3, dy: 2 },
    );
    expect(placeOf(state)).toEqual({ a: [0, 2, 2, 2], b: [3, 5, 2, 2] });
  });

  it('pushes down what is in the way, and what is below that', () => {
    const state = run(
      open(item('a', 0, 0), item('b', 4, 0), item('c', 4, 2), item('d', 8, 0)),
      { type: 'select', ids: ['a'] },
      { type: 'move', dx: 4, dy: 1 },
    );
    expect(placeOf(state)).toEqual({
      a: [4, 1, 2, 2],
      b: [4, 3, 2, 2],
      c: [4, 5, 2, 2],
      d: [8, 0, 2, 2],
    });
  });

  it('goes below what is static', () => {
    const state = run(
      open(item('a', 0, 0), { ...item('b', 4, 0), static: true }),
      { type: 'select', ids: ['a', 'b'] },
      { type: 'move', dx: 3, dy: 0 },
    );
    expect(placeOf(state)).toEqual({ a: [3, 2, 2, 2], b: [4, 0, 2, 2] });
  });
});

describe('resizing', () => {
  it('keeps to the limits of the item and of the grid', () => {
    const state = run(
      open({ ...item('a', 8, 0), maxH: 3, minW: 2 }),
      { type: 'selectAll' },
      { type: 'resize', dw: 9, dh: 9 },
    );
    expect(placeOf(state)).toEqual({ a: [8, 0, 4, 3] });
    expect(
      placeOf(editorReducer(state, { type: 'resize', dw: -9, dh: -9 })),
    ).toEqual({ a: [8, 0, 2, 1] });
  });

  it('lays what grows into each other below each other', () => {
    const state = run(
      open(item('a', 0, 0), item('b', 2, 0)),
      { type: 'selectAll' },
      { type: 'resize', dw: 1, dh: 0 },
    );
    expect(placeOf(state)).toEqual({ a: [0, 0, 3, 2], b: [2, 2, 3, 2] });
  });
});

describe('adding', () => {
  it('selects what is added, and pushes down what is there', () => {
    const state = run(open(item('a', 0, 0)), {
      type: 'add',
      items: [item('b', 1, 1)],
    });
    expect(placeOf(state)).toEqual({ a: [0, 3, 2, 2], b: [1, 1, 2, 2] });
    expect([...state.selection]).toEqual(['b']);
  });

  it('adds nothing beyond what the API takes', () => {
    const state = open(
      ...Array.from({ length: 1000 }, (_, n) => item(`${n}`, 0, 2 * n)),
    );
    expect(
      editorReducer(state, { type: 'add', items: [item('b', 4, 0)] }),
    ).toBe(state);
  });
});

it('pushes no more of a thousand items than it has to', () => {
  const state = open(
    ...Array.from({ length: 1000 }, (_, n) =>
      item(`${n}`, (n % 6) * 2, 2 * Math.floor(n / 6)),
    ),
  );
  const one = run(state, { type: 'select', ids: ['0'] });
  const moved = editorReducer(one, { type: 'move', dx: 1, dy: 0 });
  const changed = moved.content.items.filter(
    (each, n) => each !== state.content.items[n],
  );
  // The first, and the column beside it.
  expect(changed.map(({ i }) => Number(i) % 6 === 1 || i === '0')).toEqual(
    Array.from({ length: 168 }, () => true),
  );
});
