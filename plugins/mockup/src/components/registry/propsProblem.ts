import type { JsonObject } from '@backstage/types';
import Ajv, { type ValidateFunction } from 'ajv';

// Integrators may have keywords for their own tools in a schema; unknown formats too.
const ajv = new Ajv({ strict: false, validateFormats: false });
const compiled = new WeakMap<JsonObject, ValidateFunction>();

/**
 * What does not fit in the properties of a component.
 *
 * @throws Error, where the schema itself is wrong
 */
export function propsProblem(
  schema: JsonObject,
  props: unknown,
): string | undefined {
  let validate = compiled.get(schema);
  if (!validate) {
    // Without its id: two extensions may have copied theirs from the same place.
    const { $id: _, ...anonymous } = schema;
    validate = ajv.compile(anonymous);
    compiled.set(schema, validate);
  }
  if (validate(props)) {
    return undefined;
  }
  return ajv.errorsText(validate.errors, { dataVar: 'props' });
}
