import { parseEntityRef, stringifyEntityRef } from '@backstage/catalog-model';
import { InputError } from '@backstage/errors';

/**
 * The refs under which an entity may be stored: in lower case, as catalogs write refs, and as
 * given, for rows that other programs wrote.
 *
 * @throws `InputError` unless it is an entity ref with a kind
 */
export function storedRefs(entityRef: string): string[] {
  const { kind, namespace, name } = parse(entityRef);
  const given = `${kind}:${namespace}/${name}`;
  const lowerCase = stringifyEntityRef({ kind, namespace, name });
  return given === lowerCase ? [lowerCase] : [given, lowerCase];
}

function parse(entityRef: string) {
  try {
    return parseEntityRef(entityRef);
  } catch {
    throw new InputError(
      `Invalid entity ref ${JSON.stringify(
        entityRef,
      )}, expected "<kind>:<namespace>/<name>" or "<kind>:<name>"`,
    );
  }
}
