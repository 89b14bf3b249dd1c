/** Splits items into parts of at most so many rows and, if there are several, bytes. */
export function* chunksOf<T>(
  items: Iterable<T>,
  limits: { rows: number; bytes?: number; sizeOf?: (item: T) => number },
): Generator<T[]> {
  const { rows, bytes = Infinity, sizeOf = () => 0 } = limits;
  let chunk: T[] = [];
  let size = 0;
  for (const item of items) {
    const itemSize = sizeOf(item);
    if (
      chunk.length > 0 &&
      (chunk.length === rows || size + itemSize > bytes)
    ) {
      yield chunk;
      chunk = [];
      size = 0;
    }
    chunk.push(item);
    size += itemSize;
  }
  if (chunk.length > 0) {
    yield chunk;
  }
}
