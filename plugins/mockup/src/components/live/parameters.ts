import type { LayoutItem } from 'backstage-plugin-mockup-common';

/** A place in a text that the address of a page fills in: `{{entity}}` by `?entity=…`. */
const PLACE = /\{\{\s*([A-Za-z][\w-]*)\s*\}\}/g;

/** A value for a place is as long as a reference of an entity at most. */
const LONGEST = 500;

/** The names of the places in the texts of a value, each once. */
export function placesIn(value: unknown): string[] {
  const names = new Set<string>();
  mapTexts(value, text => {
    for (const [, name] of text.matchAll(PLACE)) {
      names.add(name);
    }
    return text;
  });
  return [...names];
}

/** The items with what the address says. A place that it says nothing of stays. */
export function fillIn(
  items: readonly LayoutItem[],
  parameters: URLSearchParams,
): LayoutItem[] {
  return items.map(item => ({
    ...item,
    props: mapTexts(item.props, text =>
      text.replace(
        PLACE,
        (place, name) => parameters.get(name)?.slice(0, LONGEST) ?? place,
      ),
    ),
  }));
}

/** A copy of a JSON value with other texts. */
function mapTexts<TValue>(value: TValue, map: (text: string) => string): TValue;
function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') {
    return map(value);
  }
  if (Array.isArray(value)) {
    return value.map(each => mapTexts(each, map));
  }
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value).map(([key, each]) => [key, mapTexts(each, map)]),
      )
    : value;
}
