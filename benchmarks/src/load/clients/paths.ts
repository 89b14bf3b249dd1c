/** A path with parameters, some of which may be there several times. */
export function query(
  path: string,
  parameters: Record<string, string | number | string[]>,
): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    [value].flat().map(each => [name, String(each)]),
  );
  return `${path}?${new URLSearchParams(pairs)}`;
}

/** The content of an answer. */
export function parse<T>(answer: string): T {
  return JSON.parse(answer);
}
