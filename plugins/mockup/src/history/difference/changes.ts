import {
  type ItemDifference,
  type LayoutItem,
  withoutItems,
} from 'backstage-plugin-mockup-common';
import { diffWordsWithSpace } from 'diff';
import { inOrder } from '../../components/grid';

/** What can differ in an item that both layouts have, in the order in which it is said. */
export const CHANGES = [
  'moved',
  'resized',
  'component',
  'props',
  'other',
] as const;

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
  /** Such as `links[0].title`. */
  path: string;
  before?: string;
  after?: string;
}

// Said in words, and drawn.
const PLACE = ['i', 'x', 'y', 'w', 'h', 'component'];

/** The properties and settings of an item that differ, as deep as they do. */
export function changedFields({ before, after }: ItemDifference): Field[] {
  const { props: oldProps, ...oldItem } = ownOf(before);
  const { props: newProps, ...newItem } = ownOf(after);
  const fields: Field[] = [];
  compare('', oldProps, newProps, fields);
  if (before && after) {
    const old = new Map(Object.entries(oldItem));
    const now = new Map(Object.entries(newItem));
    for (const key of new Set([...old.keys(), ...now.keys()])) {
      if (!PLACE.includes(key)) {
        compare(key, old.get(key), now.get(key), fields);
      }
    }
  }
  return fields;
}

/** What an item holds is listed by itself. */
function ownOf(item: LayoutItem | undefined) {
  return item ? withoutItems(item) : { props: undefined };
}

function compare(
  path: string,
  before: unknown,
  after: unknown,
  fields: Field[],
): void {
  const [old, now] = [childrenOf(before), childrenOf(after)];
  const isList = Array.isArray(before ?? after);
  // What is empty, or becomes another kind of value, is shown as a whole.
  const goesDeeper =
    (old || before === undefined) &&
    (now || after === undefined) &&
    Array.isArray(before ?? after) === Array.isArray(after ?? before) &&
    (old?.size || now?.size);
  if (goesDeeper) {
    for (const key of new Set([
      ...(old?.keys() ?? []),
      ...(now?.keys() ?? []),
    ])) {
      const name = isList || !path ? key : `.${key}`;
      compare(
        isList ? `${path}[${name}]` : `${path}${name}`,
        old?.get(key),
        now?.get(key),
        fields,
      );
    }
    return;
  }
  const [oldText, newText] = [textOf(before), textOf(after)];
  if (path && oldText !== newText) {
    fields.push({ path, before: oldText, after: newText });
  }
}

function childrenOf(value: unknown): Map<string, unknown> | undefined {
  return typeof value === 'object' && value !== null
    ? new Map(Object.entries(value))
    : undefined;
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') {
    return value;
  }
  return JSON.stringify(value);
}

/** A piece of a text that was changed. */
export interface Piece {
  text: string;
  is: 'same' | 'removed' | 'added';
}

// Beyond it, comparing words takes long, and would not be read.
const MOST_EDITS = 200;
const MOST_CHARACTERS = 2_000;

/** The words of a text that were removed and added; both texts as a whole where most differ. */
export function compareTexts(before: string, after: string): Piece[] {
  const [old, now] = [shorten(before), shorten(after)];
  const changes = diffWordsWithSpace(old, now, { maxEditLength: MOST_EDITS });
  if (!changes?.some(({ added, removed }) => !added && !removed)) {
    return [
      { text: old, is: 'removed' },
      { text: now, is: 'added' },
    ];
  }
  return changes.map(({ value, added, removed }) => {
    if (added) {
      return { text: value, is: 'added' };
    }
    return { text: value, is: removed ? 'removed' : 'same' };
  });
}

/** A text as long as one would read it here. */
export function shorten(text: string): string {
  return text.length > MOST_CHARACTERS
    ? `${text.slice(0, MOST_CHARACTERS)} …`
    : text;
}
