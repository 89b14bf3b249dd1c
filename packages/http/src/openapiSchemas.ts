import { z } from 'zod';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The schema of an error, which is Backstage's. */
const errorSchema = z.object({
  error: z.object({ name: z.string(), message: z.string() }),
  request: z.object({ method: z.string(), url: z.string() }).optional(),
  response: z.object({ statusCode: z.int() }),
});

/** The name of a schema that a module exports: `Tenant` of `tenantSchema`. */
export type SchemaNameOf<TModule> = {
  [TKey in keyof TModule]: TKey extends `${infer TName}Schema`
    ? Capitalize<TName>
    : never;
}[keyof TModule];

/**
 * The schemas that a module exports as JSON Schema, each by its name, and `Error`. Where one has
 * another in it, it refers to that.
 */
export function openApiSchemas(module: object): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  registry.add(errorSchema, { id: 'Error' });
  for (const [key, schema] of Object.entries(module)) {
    const [, initial, rest] = /^(.)(.*)Schema$/.exec(key) ?? [];
    if (initial) {
      registry.add(schema, { id: `${initial.toUpperCase()}${rest}` });
    }
  }
  const described = z.toJSONSchema(registry, {
    // What callers may send, if the stored form differs.
    io: 'input',
    // What a function checks is described by hand.
    unrepresentable: 'any',
    uri: id => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(
    Object.entries(described.schemas).map(([id, schema]) => [
      id,
      withoutHead(schema),
    ]),
  );
}

/** The query parameters of an operation, from the schema of its query. */
export function openApiQuery(schema: z.ZodType): object[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, {
    io: 'input',
  });
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    schema: property,
  }));
}

function withoutHead(schema: JsonSchema): JsonSchema {
  const { $schema: _schema, $id: _id, ...rest } = schema;
  return rest;
}
