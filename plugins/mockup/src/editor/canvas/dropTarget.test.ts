import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { editorReducer, openContent } from '../model/editorReducer';
import { dropAt, levelAttribute } from './dropTarget';

const section = (i: string, y: number, ...items: LayoutItem[]): LayoutItem => ({
  ...{ i, x: 0, y, w: 6, h: 4, component: 'container-section' },
  props: { items },
});
const text: LayoutItem = {
  ...{ i: 'text', x: 6, y: 0, w: 6, h: 2, component: 'text' },
  props: {},
};

/** Where each row and column begins: the canvas is 120 pixels wide, and lies at 100, 50. */
const at = (column: number, row: number) =>
  new MouseEvent('mousemove', {
    clientX: 100 + column * 10,
    clientY: 50 + row * 40,
  });

function dropped(
  event: Event,
  { id = 'text', more = [] as LayoutItem[], level = '' } = {},
) {
  const canvas = document.createElement('div');
  canvas.getBoundingClientRect = () => new DOMRect(100, 50, 120, 800);
  const items = [text, section('empty', 0), ...more];
  const opened = editorReducer(
    openContent({ name: '', description: '', items }),
    { type: 'open', level: level || undefined },
  );
  const state = editorReducer(opened, { type: 'select', ids: [id] });
  return dropAt(event, { canvas, ids: new Set([id]), state });
}

describe('where an item is dropped', () => {
  afterEach(() => {
    document.elementsFromPoint = undefined as never;
  });

  it('is a container, below its first row', () => {
    const into = { type: 'moveInto', id: 'empty' };
    expect(dropped(at(3, 1.5))).toEqual(into);
    expect(dropped(at(3, 3.9))).toEqual(into);
    for (const elsewhere of [at(3, 0.5), at(3, 4.1), at(7, 1.5)]) {
      expect(dropped(elsewhere)).toBeUndefined();
    }
    expect(dropped(at(3, 1.5), { id: 'empty' })).toBeUndefined();
  });

  it('is no container that is too deep for it', () => {
    const deep = section('deep', 8, section('deeper', 0));
    expect(dropped(at(3, 1.5), { id: 'deep', more: [deep] })).toBeUndefined();
  });

  it.each([undefined, 'around'])('is the name of a level: %s', level => {
    const name = document.createElement('li');
    Object.entries(levelAttribute(level)).forEach(([key, value]) =>
      name.setAttribute(key, value),
    );
    const button = document.createElement('button');
    name.append(button);
    document.elementsFromPoint = () => [document.body, button];
    const more = [section('open', 8, { ...text, i: 'held' })];
    expect(dropped(at(3, 1.5), { id: 'held', more, level: 'open' })).toEqual({
      type: 'moveOut',
      to: level,
    });
    // On the page none is shown.
    expect(dropped(at(7, 1.5))).toBeUndefined();
  });
});
