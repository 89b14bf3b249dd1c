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

function dropped(event: Event, id = 'text', ...items: LayoutItem[]) {
  const canvas = document.createElement('div');
  canvas.getBoundingClientRect = () => new DOMRect(100, 50, 120, 800);
  const layout = [text, section('empty', 0), ...items];
  const state = editorReducer(
    openContent({ name: '', description: '', items: layout }),
    { type: 'select', ids: [id] },
  );
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
    expect(dropped(at(3, 1.5), 'empty')).toBeUndefined();
  });

  it('is no container that is too deep for it', () => {
    const deep = section('deep', 8, section('deeper', 0));
    expect(dropped(at(3, 1.5), 'deep', deep)).toBeUndefined();
  });

  it.each([undefined, 'around'])('is the name of a level: %s', level => {
    const name = document.createElement('li');
    Object.entries(levelAttribute(level)).forEach(([key, value]) =>
      name.setAttribute(key, value),
    );
    const button = document.createElement('button');
    name.append(button);
    document.elementsFromPoint = () => [document.body, button];
    expect(dropped(at(3, 1.5))).toEqual({ type: 'moveOut', to: level });
  });
});
