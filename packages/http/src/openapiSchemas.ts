import { z } from 'zod';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * The schemas of requests and answers as JSON Schema, each by its name. Where one has another
 * in it, it refers to that.
 */
export function openApiSchemas(
  schemas: Record<string, z.ZodType>,
): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) {
    registry.add(schema, { id });
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

/** The schema of an error, which is Backstage's. */
export const openApiErrorSchema = z.object({
  error: z.object({ name: z.string(), message: z.string() }),
  request: z.object({ method: z.string(), url: z.string() }).optional(),
  response: z.object({ statusCode: z.int() }),
});

function withoutHead(schema: JsonSchema): JsonSchema {
  const { $schema: _schema, $id: _id, ...rest } = schema;
  return rest;
}
