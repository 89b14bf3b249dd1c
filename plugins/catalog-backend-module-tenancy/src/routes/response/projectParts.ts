import { type Projection, projectJson } from '../request/parseFields';
import type { Parts } from './sendEntities';

/** What a projection leaves of each entity, as JSON text. */
export function projectParts(
  parts: Parts,
  projection: Projection | undefined,
): Parts {
  if (!projection) {
    return parts;
  }
  const project = (part: string[]) =>
    part.map(json => projectJson(json, projection));
  return Array.isArray(parts) ? [project(parts[0])] : map(parts, project);
}

async function* map<TItem>(
  items: AsyncIterable<TItem>,
  change: (item: TItem) => TItem,
): AsyncGenerator<TItem> {
  for await (const item of items) {
    yield change(item);
  }
}
