/** Which JSON a body has to hold. What else is in an object does not matter. */
export type BodySchema =
  | { type: 'string'; enum?: readonly string[] }
  | { type: 'number' }
  | { type: 'array'; items: BodySchema }
  | {
      type: 'object';
      required?: readonly string[];
      properties?: Record<string, BodySchema>;
    };

export const STRING: BodySchema = { type: 'string' };
export const NUMBER: BodySchema = { type: 'number' };
export const STRINGS: BodySchema = { type: 'array', items: STRING };
export const OBJECT: BodySchema = { type: 'object' };

/**
 * What is wrong with a value, in the words in which the stock catalog says it, or
 * nothing if it is as it has to be.
 */
export function findMismatch(
  schema: BodySchema,
  value: unknown,
  path: string,
): string | undefined {
  if (typeOf(value) !== schema.type) {
    return `${path} must be ${schema.type}`;
  }
  switch (schema.type) {
    case 'string':
      return schema.enum && !schema.enum.includes(value as string)
        ? `${path} must be equal to one of the allowed values: ${schema.enum.join(
            ', ',
          )}`
        : undefined;
    case 'array':
      return first(value as unknown[], (item, index) =>
        findMismatch(schema.items, item, `${path}/${index}`),
      );
    case 'object': {
      const { required = [], properties = {} } = schema;
      const object = value as Record<string, unknown>;
      return (
        first(required, name =>
          object[name] === undefined
            ? `${path} must have required property '${name}'`
            : undefined,
        ) ??
        first(Object.entries(properties), ([name, property]) =>
          object[name] === undefined
            ? undefined
            : findMismatch(property, object[name], `${path}/${name}`),
        )
      );
    }
    default:
      return undefined;
  }
}

function typeOf(value: unknown): string {
  if (value === null) {
    return 'null';
  }
  return Array.isArray(value) ? 'array' : typeof value;
}

function first<TItem>(
  items: readonly TItem[],
  find: (item: TItem, index: number) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const found = find(item, index);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}
