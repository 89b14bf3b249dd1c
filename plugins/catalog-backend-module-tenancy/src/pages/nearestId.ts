const LEAST = '00000000-0000-0000-0000-000000000000';

/**
 * The UUID nearest to a text in the order of texts.
 *
 * Only forged cursors contain ids that are not UUIDs. The stock catalog compares ids as text,
 * so it accepts them too.
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
