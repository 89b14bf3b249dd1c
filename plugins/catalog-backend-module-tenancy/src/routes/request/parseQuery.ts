import { InputError } from '@backstage/errors';
import type { Request } from 'express';

interface ParameterTypes {
  string: string;
  integer: number;
  /** A repeated parameter: `a=x&a=y`. */
  strings: string[];
  /** One parameter, `a=x,y`, or a repeated one. */
  commaSeparated: string[];
}

/** The type or the allowed values of each parameter. */
type QuerySchema = Record<string, keyof ParameterTypes | readonly string[]>;

type Query<TSchema extends QuerySchema> = {
  [TName in keyof TSchema]?: TSchema[TName] extends keyof ParameterTypes
    ? ParameterTypes[TSchema[TName]]
    : TSchema[TName] extends readonly string[]
    ? TSchema[TName][number]
    : never;
};

const PARSERS: {
  [TType in keyof ParameterTypes]: (
    value: unknown,
    path: string,
  ) => ParameterTypes[TType];
} = {
  string: parseString,
  integer: parseInteger,
  strings: (value, path) =>
    (Array.isArray(value) ? value : [value]).map((item, index) =>
      parseString(item, `${path}/${index}`),
    ),
  commaSeparated(value, path) {
    const values = typeof value === 'string' ? value.split(',') : value;
    if (!Array.isArray(values)) {
      throw new InputError(`${path} must be array`);
    }
    return values.map((item, index) => parseString(item, `${path}/${index}`));
  },
};

/**
 * Validates and parses the query of a request, with the stock catalog's messages.
 *
 * @param options.required - required parameters
 * @throws InputError that names a parameter that is unknown, missing, empty or of
 * another type
 */
export function parseQuery<const TSchema extends QuerySchema>(
  query: Request['query'],
  schema: TSchema,
  options: { required?: Array<keyof TSchema & string> } = {},
): Query<TSchema> {
  for (const [name, value] of Object.entries(query)) {
    if (!Object.hasOwn(schema, name)) {
      throw new InputError(`Unknown query parameter '${name}'`);
    }
    if (value === '') {
      throw new InputError(`Empty value found for query parameter '${name}'`);
    }
  }
  const missing = options.required?.find(name => query[name] === undefined);
  if (missing) {
    throw new InputError(
      `request/query must have required property '${missing}'`,
    );
  }
  const parsed: Record<string, string | number | string[]> = {};
  for (const [name, type] of Object.entries(schema)) {
    const value = query[name];
    if (value !== undefined) {
      const path = `request/query/${name}`;
      parsed[name] =
        typeof type === 'string'
          ? PARSERS[type](value, path)
          : parseOneOf(type, value, path);
    }
  }
  return parsed as Query<TSchema>;
}

function parseString(value: unknown, path: string): string {
  if (typeof value !== 'string') {
    throw new InputError(`${path} must be string`);
  }
  return value;
}

function parseOneOf(
  allowed: readonly string[],
  value: unknown,
  path: string,
): string {
  const text = parseString(value, path);
  if (!allowed.includes(text)) {
    throw new InputError(
      `${path} must be equal to one of the allowed values: ${allowed.join(
        ', ',
      )}`,
    );
  }
  return text;
}

/** Accepts JavaScript's notation of numbers, such as `1e3`. */
function parseInteger(value: unknown, path: string): number {
  const integer =
    typeof value === 'string' && value.trim() ? Number(value) : NaN;
  if (!Number.isSafeInteger(integer)) {
    throw new InputError(`${path} must be integer`);
  }
  if (integer < 0) {
    throw new InputError(`${path} must be >= 0`);
  }
  return integer;
}
