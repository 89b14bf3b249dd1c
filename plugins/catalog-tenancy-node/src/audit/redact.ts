import { isError } from '@backstage/errors';

const REMOVED = '[removed]';
const SECRET_KEY =
  /secret|token|passw|passphrase|credential|authorization|cookie|api-?_?key|private-?_?key/i;
const SECRETS: [RegExp, string][] = [
  // A JSON Web Token.
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, REMOVED],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${REMOVED}`],
  // User and password in a URL, and values of its query. Unbounded, the parts of a name would
  // take seconds for a text of many names without a value, which holds the thread.
  [/:\/\/[^\s/@:]*:[^\s/@]*@/g, `://${REMOVED}@`],
  [
    /([?&;][^?&;=\s]{0,64}(?:secret|token|passw|signature|key)[^=&\s]{0,64}=)[^&\s]+/gi,
    `$1${REMOVED}`,
  ],
  [/\b(gh[pousr]_|github_pat_|glpat-|xox[abps]-|AKIA)[\w-]{8,}/g, REMOVED],
  [/-----BEGIN [^-]*PRIVATE KEY-----[^]*?(-----END [^-]*-----|$)/g, REMOVED],
];
const LONGEST_TEXT = 1_000;
const LONGEST_META = 8_000;
const DEEPEST = 6;

/** Errors whose messages the caller sees anyway. */
const ABOUT_REQUEST = [
  'AuthenticationError',
  'ConflictError',
  'InputError',
  'NotAllowedError',
  'NotFoundError',
  'NotImplementedError',
  'NotModifiedError',
  'PreconditionFailedError',
  'TenantBusyError',
];

/** Removes secrets, NUL and lone surrogates, and shortens the text. */
export function redactText(text: string): string {
  const known = SECRETS.reduce(
    (rest, [pattern, replacement]) => rest.replace(pattern, replacement),
    text.slice(0, 4 * LONGEST_TEXT).replace(/[\0\p{Surrogate}]/gu, ''),
  );
  return known.length > LONGEST_TEXT
    ? `${known.slice(0, LONGEST_TEXT).replace(/\p{Surrogate}/gu, '')}…`
    : known;
}

/** The metadata of an event without secrets; replaced by a note if too long. */
export function redactMeta(
  meta: Record<string, unknown>,
): Record<string, unknown> {
  const redacted = redact(meta, 0) as Record<string, unknown>;
  return JSON.stringify(redacted).length > LONGEST_META
    ? { left_out: 'The details are too long' }
    : redacted;
}

/** Why an operation failed, as far as its caller may know. */
export function describeError(error: unknown): string {
  if (!isError(error)) {
    return 'Error';
  }
  // Messages of other errors may quote statements or data.
  return ABOUT_REQUEST.includes(error.name)
    ? redactText(`${error.name}: ${error.message}`)
    : redactText(error.name);
}

function redact(value: unknown, depth: number): unknown {
  if (typeof value === 'string') {
    return redactText(value);
  }
  if (typeof value === 'bigint') {
    return String(value);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (depth === DEEPEST) {
    return '…';
  }
  if (Array.isArray(value)) {
    return value.map(each => redact(each, depth + 1));
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      redactText(key),
      SECRET_KEY.test(key) && each !== null && each !== undefined
        ? REMOVED
        : redact(each, depth + 1),
    ]),
  );
}
