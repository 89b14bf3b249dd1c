import {
  isEqualJson,
  type ItemDifference,
  type LayoutItem,
  withoutItems,
} from 'backstage-plugin-mockup-common';
import { inOrder } from '../../components/grid';

/** What can differ in an item that both layouts have, in the order in which it is said. */
const CHANGES = ['moved', 'resized', 'component', 'props', 'other'] as const;

/** What has happened to an item. */
export type Kind = 'added' | 'removed' | (typeof CHANGES)[number];

/** All that has happened to an item. */
export function kindsOf(difference: ItemDifference): Kind[] {
  return difference.change === 'changed'
    ? CHANGES.filter(kind => difference[kind])
    : [difference.change];
}

/** The item as it is now, or as it was before it was removed. */
export function itemOf({ before, after }: ItemDifference): LayoutItem {
  const item = after ?? before;
  if (!item) {
    throw new Error('A difference has neither the item before nor after');
  }
  return item;
}

/** As people read a page: from the top to the bottom, each row from the left. */
export function inReadingOrder(
  differences: readonly ItemDifference[],
): ItemDifference[] {
  return [...differences].sort((one, other) =>
    inOrder(itemOf(one), itemOf(other)),
  );
}

/** A property that differs. One that is not there has no text. */
export interface Field {
  name: string;
  before?: string;
  after?: string;
}

/** The properties and settings of an item that differ. Its place is said in words, and drawn. */
export function changedFields({ before, after }: ItemDifference): Field[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter(name => !isEqualJson(old.get(name), now.get(name)))
    .map(name => ({
      name,
      before: textOf(old.get(name)),
      after: textOf(now.get(name)),
    }));
}

/** What an item holds is listed by itself. */
function fieldsOf(item: LayoutItem | undefined): Map<string, unknown> {
  if (!item) {
    return new Map();
  }
  const { i, x, y, w, h, component, props, ...settings } = withoutItems(item);
  return new Map([...Object.entries(settings), ...Object.entries(props)]);
}

function textOf(value: unknown): string | undefined {
  return value === undefined || typeof value === 'string'
    ? value
    : JSON.stringify(value);
}
