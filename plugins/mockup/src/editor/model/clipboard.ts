import {
  itemsWithin,
  type LayoutItem,
  layoutSchema,
  withItems,
} from 'backstage-plugin-mockup-common';
import { boxOf } from '../../components/grid';
import type { Items } from './grid';

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

/**
 * Copies with ids that are not taken, those within containers too, as they lie to each other, from
 * a row on.
 */
export function pasted(
  copied: Items,
  row: number,
  taken: Set<string>,
): LayoutItem[] {
  const top = Math.min(...copied.map(({ y }) => y));
  return copied.map(item => ({
    ...renamed(item, taken),
    ...boxOf(item),
    y: item.y - top + row,
  }));
}

function renamed(item: LayoutItem, taken: Set<string>): LayoutItem {
  const within = itemsWithin(item).map(each => renamed(each, taken));
  return {
    ...(within.length > 0 ? withItems(item, within) : item),
    i: newId(item.component, taken),
  };
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
