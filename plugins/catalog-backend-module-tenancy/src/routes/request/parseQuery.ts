import { InputError } from '@backstage/errors';
import type { Request } from 'express';

interface ParameterTypes {
  string: string;
  integer: number;
  /** Repeated: `a=x&a=y`. */
  strings: string[];
  /** In one parameter: `a=x,y`. It may be repeated too. */
  commaSeparated: string[];
}

type QuerySchema = Record<string, keyof ParameterTypes>;

type Query<TSchema extends QuerySchema> = {
  [TName in keyof TSchema]?: ParameterTypes[TSchema[TName]];
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
 * Reads the query of a request by the types of its parameters, as the stock
 * catalog does before anything else. It says what is wrong in the same words.
 *
 * @throws InputError that names a parameter that is unknown, empty or of another
 * type
 */
export function parseQuery<TSchema extends QuerySchema>(
  query: Request['query'],
  schema: TSchema,
): Query<TSchema> {
  for (const [name, value] of Object.entries(query)) {
    if (!Object.hasOwn(schema, name)) {
      throw new InputError(`Unknown query parameter '${name}'`);
    }
    if (value === '') {
      throw new InputError(`Empty value found for query parameter '${name}'`);
    }
  }
  const parsed: Record<string, string | number | string[]> = {};
  for (const [name, type] of Object.entries(schema)) {
    const value = query[name];
    if (value !== undefined) {
      parsed[name] = PARSERS[type](value, `request/query/${name}`);
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

/** Takes what JavaScript takes for a number, such as `1e3`. */
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
