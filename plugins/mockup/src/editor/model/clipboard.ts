import { type LayoutItem, layoutSchema } from 'backstage-plugin-mockup-common';
import { boxOf } from '../../components/grid';
import { bottomOf, type Items } from './grid';

/** By which the text of a clipboard is known as ours. */
const KIND = 'backstage.mockup/items';

export function toClipboardText(items: Items): string {
  return JSON.stringify({ kind: KIND, items });
}

/** The items in a text; nothing where it has none. */
export function fromClipboardText(text: string): LayoutItem[] | undefined {
  try {
    const { kind, items } = JSON.parse(text);
    const result = layoutSchema.safeParse(items);
    return kind === KIND && result.success && result.data.length > 0
      ? result.data
      : undefined;
  } catch {
    return undefined;
  }
}

/** Copies with new ids, as they lie to each other, below the given items. */
export function pasted(
  copied: Items,
  items: Items,
  below: Items,
): LayoutItem[] {
  const top = Math.min(...copied.map(({ y }) => y));
  const row = bottomOf(below.length > 0 ? below : items);
  const taken = new Set(items.map(({ i }) => i));
  return copied.map(item => ({
    ...item,
    ...boxOf(item),
    y: item.y - top + row,
    i: newId(item.component, taken),
  }));
}

/** An id that no item has. It is taken from then on. */
export function newId(component: string, taken: Set<string>): string {
  for (;;) {
    const id = `${component}-${Math.random().toString(36).slice(2, 8)}`;
    if (!taken.has(id)) {
      taken.add(id);
      return id;
    }
  }
}
