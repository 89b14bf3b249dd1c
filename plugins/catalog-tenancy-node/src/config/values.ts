import { ConfigReader, readDurationFromConfig } from '@backstage/config';
import type { HumanDuration, JsonValue } from '@backstage/types';
import { z } from 'zod';

const DOMAIN =
  /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;

// Backstage's own pattern.
const PLUGIN_ID = /^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/i;

/** PostgreSQL truncates longer names without an error. */
const MAX_NAME_BYTES = 63;

/** True for exactly `true`; false for any other text. */
export const flag = z
  .union([z.boolean(), z.string()], '"true", or another word for off')
  .transform(isTrue);

export const boolean = z
  .union([z.boolean(), z.enum(['true', 'false'])], 'true or false')
  .transform(isTrue);

export function isTrue(value: unknown): boolean {
  return value === true || value === 'true';
}

export function oneOf<const Words extends readonly string[]>(words: Words) {
  return z.enum(words, words.map(word => JSON.stringify(word)).join(' or '));
}

/**
 * A whole number, also as a text: environment variables are texts.
 *
 * @public
 */
export function configInteger(
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): z.ZodType<number> {
  const expected =
    max === Number.MAX_SAFE_INTEGER
      ? `a whole number of ${min} or more`
      : `a whole number from ${min} to ${max}`;
  return z
    .union([z.number(), z.string().regex(/^\d+$/, expected)], expected)
    .transform(Number)
    .pipe(z.int(expected).min(min, expected).max(max, expected));
}

/**
 * A duration, in each form that Backstage has for them.
 *
 * @public
 */
export function configDuration(
  expected: string = "a duration such as { minutes: 15 } or '15m'",
): z.ZodType<HumanDuration> {
  return z.unknown().transform((value, context) => {
    try {
      return readDurationFromConfig(
        new ConfigReader({ duration: value as JsonValue }),
        { key: 'duration' },
      );
    } catch {
      context.addIssue({ code: 'custom', message: expected, input: value });
      return z.NEVER;
    }
  });
}

function text(expected: string, isValid: (value: string) => boolean) {
  return z.string(expected).refine(isValid, expected);
}

/** A valid PostgreSQL identifier. */
export const identifier = text(
  `a text of 1 to ${MAX_NAME_BYTES} bytes`,
  value => {
    const bytes = Buffer.byteLength(value);
    return bytes > 0 && bytes <= MAX_NAME_BYTES && !value.includes('\0');
  },
);

export const filledText = text('a text that is not empty', Boolean);

export const url = text(
  'a URL such as "https://example.com/events", without a user',
  // fetch takes no URL with a user or a password.
  value => /^https?:\/\/[^/?#@]+(?:[/?#]|$)/.test(value) && URL.canParse(value),
);

/** A URL, or what another schema takes. */
export function connectionOr<T extends z.ZodType>(keys: T) {
  const expected =
    'a URL such as "postgresql://<user>:<password>@<host>/<database>", or keys and values';
  return z.union(
    [z.string().regex(/^postgres(ql)?:\/\//, expected), keys],
    expected,
  );
}

const SECRETS = 'a text that is not empty, or a list with such a text';

/** A secret or a list of secrets; empty ones are ignored. */
export const secrets = z
  .union([z.string(), z.array(z.string(SECRETS))], SECRETS)
  .transform(texts => [texts].flat().filter(Boolean))
  .refine(texts => texts.length > 0, SECRETS);

export const domains = z.array(
  text('a host name such as "portal.example.com"', value =>
    DOMAIN.test(value),
  ).transform(value => value.toLowerCase()),
  'a list of host names, such as "portal.example.com"',
);

export const pluginIds = z.array(
  text('the id of a plugin, such as "my-news"', id => PLUGIN_ID.test(id)),
  'a list of the ids of plugins, such as "my-news"',
);
