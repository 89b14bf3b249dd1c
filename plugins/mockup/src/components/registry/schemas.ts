import type { JsonObject } from '@backstage/types';

/** A text with this title in the form. */
export function text(title: string, more: JsonObject = {}): JsonObject {
  return { type: 'string', title, ...more };
}

/** One of several texts, the first where none is chosen. */
export function choice(title: string, ...values: string[]): JsonObject {
  return text(title, { enum: values, default: values[0] });
}

/** A list of at most so many entries. */
export function list(
  title: string,
  maxItems: number,
  items: JsonObject,
): JsonObject {
  return { type: 'array', title, maxItems, items };
}

/** An object with these properties, of which some are required. */
export function object(
  properties: JsonObject,
  ...required: string[]
): JsonObject {
  return { type: 'object', required, properties };
}

export const TITLE = text('Title');
export const LABEL = text('Label');

/** What all icons of the palette have. */
export const ICON = { size: 20, 'aria-hidden': true } as const;
