import type { ConnectionOptions } from 'tls';
import type { Config } from '@backstage/config';
import { InputError } from '@backstage/errors';

const DOMAIN =
  /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

// Backstage's own pattern.
const PLUGIN_ID = /^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/i;

/** PostgreSQL truncates longer names without an error. */
const MAX_NAME_BYTES = 63;

/**
 * Readers of single values. Each returns undefined for a missing value, and throws for an
 * invalid one.
 */
export function readers(config: Config) {
  const read = <T>(
    key: string,
    expected: string,
    parse: (value: unknown) => T | undefined,
    options: { secret?: boolean } = {},
  ): T | undefined => {
    const value = config.getOptional(key);
    if (value === undefined) {
      return undefined;
    }
    const parsed = parse(value);
    if (parsed === undefined) {
      const shown = options.secret ? 'not valid' : JSON.stringify(value);
      throw new InputError(
        `The configuration ${key} is ${shown}. Expected ${expected}.`,
      );
    }
    return parsed;
  };

  return {
    /** True for exactly `true`; false for any other text. */
    flag: (key: string, fallback: string | undefined): boolean =>
      read(key, '"true", or another word for off', value =>
        ['string', 'boolean'].includes(typeof value)
          ? isTrue(value)
          : undefined,
      ) ?? isTrue(fallback),

    boolean: (key: string) =>
      read(key, 'true or false', value =>
        ['true', 'false'].includes(String(value)) ? isTrue(value) : undefined,
      ),

    /** One of some words. */
    oneOf: <T extends string>(key: string, words: readonly T[]) =>
      read(key, words.map(word => JSON.stringify(word)).join(' or '), value =>
        words.find(word => word === value),
      ),

    /** A valid PostgreSQL identifier. */
    name: (key: string) =>
      read(key, `a text of 1 to ${MAX_NAME_BYTES} bytes`, value =>
        typeof value === 'string' && isName(value) ? value : undefined,
      ),

    host: (key: string) =>
      read(key, 'the name of a host', value =>
        typeof value === 'string' && value !== '' ? value : undefined,
      ),

    /** Errors do not show it: a URL may contain a secret. */
    url: (key: string) =>
      read(
        key,
        'a URL such as "https://example.com/events", without a user',
        value =>
          // fetch takes no URL with a user or a password.
          /^https?:\/\/[^/?#@]+(?:[/?#]|$)/.test(String(value)) &&
          URL.canParse(String(value))
            ? String(value)
            : undefined,
        { secret: true },
      ),

    secret: (key: string) =>
      read(
        key,
        'a text that is not empty',
        value =>
          typeof value === 'string' && value !== '' ? value : undefined,
        { secret: true },
      ),

    /** A secret or a list of secrets; empty ones are ignored. */
    secrets: (key: string) =>
      read(
        key,
        'a text that is not empty, or a list with such a text',
        value => {
          const texts = Array.isArray(value) ? value : [value];
          const secrets = texts.filter(text => text !== '');
          return secrets.length > 0 &&
            secrets.every(text => typeof text === 'string')
            ? (secrets as string[])
            : undefined;
        },
        { secret: true },
      ),

    integer: (key: string, { min, max }: { min: number; max: number }) =>
      read(key, `a whole number from ${min} to ${max}`, value => {
        // Environment variables are texts.
        const number = /^\d+$/.test(String(value)) ? Number(value) : NaN;
        return number >= min && number <= max ? number : undefined;
      }),

    domains: (key: string) =>
      read(key, 'a list of host names, such as "portal.example.com"', value => {
        const names = Array.isArray(value) ? value.map(toDomain) : [undefined];
        return names.every(name => name !== undefined) ? names : undefined;
      }),

    pluginIds: (key: string) =>
      read(key, 'a list of the ids of plugins, such as "my-news"', value =>
        Array.isArray(value) &&
        value.every(id => typeof id === 'string' && PLUGIN_ID.test(id))
          ? value
          : undefined,
      ),

    ssl: (key: string) =>
      read<boolean | ConnectionOptions>(
        key,
        'true, false, or the options of a TLS connection',
        value =>
          typeof value === 'boolean' || isObject(value) ? value : undefined,
        { secret: true },
      ),

    connection: (key: string) =>
      read<string | object>(
        key,
        'a URL such as "postgresql://<user>:<password>@<host>/<database>", or keys and values',
        value =>
          isObject(value) || /^postgres(ql)?:\/\//.test(String(value))
            ? (value as string | object)
            : undefined,
        { secret: true },
      ),

    object: (key: string) =>
      read(
        key,
        'keys and values',
        value => (isObject(value) ? value : undefined),
        { secret: true },
      ),
  };
}

function isTrue(value: unknown): boolean {
  return value === true || value === 'true';
}

function isName(value: string): boolean {
  const bytes = Buffer.byteLength(value);
  return bytes > 0 && bytes <= MAX_NAME_BYTES && !value.includes('\0');
}

function toDomain(value: unknown): string | undefined {
  const name = typeof value === 'string' ? value.toLowerCase() : '';
  return DOMAIN.test(name) ? name : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
