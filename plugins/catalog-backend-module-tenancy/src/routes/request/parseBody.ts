import { InputError, isError } from '@backstage/errors';
import express from 'express';
import type { Request, Response } from 'express';
import { promisify } from 'node:util';

const readJson = promisify(express.json());

/**
 * Reads and validates the JSON body of a request, with the stock catalog's size limit. A
 * missing body counts as an empty object.
 *
 * @param options.required - whether a body is required
 * @throws InputError for a body that is too long, of another type or form, or not JSON
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
    // The parser's errors contain the whole body, which the response must not repeat. As in the
    // stock catalog, all of them get status 400.
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

/** The expected form of a body. Additional properties are allowed. */
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
 * The stock catalog's message for an invalid value; undefined if it is valid.
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
