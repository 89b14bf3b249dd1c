import { createHash } from 'node:crypto';

/**
 * `size` elements of a list, the same ones for the same seed. Over many seeds each is
 * among them equally often.
 *
 * @public
 */
export function sampleOf<T extends { name: string }>(
  list: readonly T[],
  size: number,
  seed: string,
): T[] {
  const rank = ({ name }: T) =>
    createHash('sha256').update(`${seed}: ${name}`).digest('hex');
  return [...list].sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, size);
}
