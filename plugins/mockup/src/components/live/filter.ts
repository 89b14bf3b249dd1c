/** Which entities: each line is `field=value`. */
export type FilterLines = readonly string[];

/**
 * The filter of the catalog for lines such as `spec.type=service`. Of several with the same field
 * one has to match, and of different fields each.
 */
export function toFilter(
  lines: FilterLines,
): Record<string, string | string[]> {
  const filter: Record<string, string | string[]> = {};
  for (const line of lines) {
    const [field, ...rest] = line.split('=');
    const key = field.trim();
    const value = rest.join('=').trim();
    filter[key] =
      filter[key] === undefined ? value : [filter[key], value].flat();
  }
  return filter;
}
