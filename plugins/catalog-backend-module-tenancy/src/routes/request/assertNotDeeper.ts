import { InputError } from '@backstage/errors';

// Twice as deep as predicates may be: a list is a level too.
const MAX_DEPTH = 250;

/**
 * Refuses what is nested so deep that the schemas of predicates, which call
 * themselves for each level, would fill the stack.
 *
 * @param what - is so deep, for the message
 * @throws InputError for more than 250 levels
 */
export function assertNotDeeper(json: unknown, what: string): void {
  let layer: object[] = [{ json }];
  for (let level = 0; layer.length > 0; level += 1) {
    if (level > MAX_DEPTH) {
      throw new InputError(
        `Malformed ${what}, it is nested deeper than ${MAX_DEPTH} levels`,
      );
    }
    layer = layer
      .flatMap(holder => Object.values(holder))
      .filter(value => typeof value === 'object' && value !== null);
  }
}
