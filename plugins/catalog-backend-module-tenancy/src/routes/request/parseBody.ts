import { InputError, isError } from '@backstage/errors';
import express from 'express';
import type { Request, Response } from 'express';
import { promisify } from 'node:util';

const readJson = promisify(express.json());

/**
 * Reads the body of a request, which is to be JSON of a certain form and not longer
 * than the stock catalog takes. Without one it is an empty object.
 *
 * @param options.required - whether there has to be one
 * @throws InputError for a body that is too long, of another type or form, or no JSON
 */
export async function readJsonBody<TBody>(
  req: Request,
  res: Response,
  schema: BodySchema,
  options: { required?: boolean } = {},
): Promise<TBody> {
  const contentType = req.get('Content-Type');
  const mediaType = contentType?.split(';')[0].trim().toLowerCase();
  try {
    await readJson(req, res);
  } catch (error) {
    // The parser's errors carry the whole body, which would come back in the
    // answer. The stock catalog has status 400 for all of them.
    throw isError(error) ? new InputError(error.message) : error;
  }
  if (mediaType && mediaType !== 'application/json') {
    throw new InputError(`unsupported media type ${mediaType}`);
  }
  if (!mediaType && options.required) {
    throw new InputError('media type not specified');
  }
  const body = req.body ?? {};
  const mismatch = mediaType && findMismatch(schema, body, 'request/body');
  if (mismatch) {
    throw new InputError(mismatch);
  }
  return body;
}

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
function findMismatch(
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
