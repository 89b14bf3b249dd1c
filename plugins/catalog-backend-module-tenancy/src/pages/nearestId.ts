const LEAST = '00000000-0000-0000-0000-000000000000';

/**
 * The UUID nearest to where a text stands in the order of text.
 *
 * Only a cursor that a client has made up has an id that is not a UUID. To the stock
 * catalog ids are text, so it has a page that begins there too.
 */
export function nearestId(text: string): string {
  const lower = text.toLowerCase();
  for (const [index, least] of [...LEAST].entries()) {
    const char = lower[index] ?? '';
    const fits = least === '-' ? char === '-' : /^[0-9a-f]$/.test(char);
    if (!fits) {
      const rest = LEAST.slice(index).replaceAll('0', char < least ? '0' : 'f');
      return lower.slice(0, index) + rest;
    }
  }
  return lower.slice(0, LEAST.length);
}
