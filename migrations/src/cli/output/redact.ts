const MASK = '***';

// Shorter ones are found all over; what is printed of them is caught by the patterns below.
const MIN_SECRET_LENGTH = 4;

const CREDENTIALS_OF_URL = /([a-z][a-z0-9+.-]*:\/\/)[^\s"'<>]*@/gi;
const NAMED_SECRET =
  /\b((?:password|passwd|token|secret)\s*[=:]\s*)[^\s&,;]+/gi;

/** A single word, or a number, as names in SQL and in sentences are, too. */
const WORD = /^(?:[A-Z]?[a-z_-]+|[A-Z_-]+|\d+)$/;

/** A text without passwords: those that are known, and whatever looks like one. */
export function redact(text: string, secrets: Iterable<string> = []): string {
  let redacted = text
    .replace(CREDENTIALS_OF_URL, `$1${MASK}@`)
    .replace(NAMED_SECRET, `$1${MASK}`);
  for (const secret of secrets) {
    if (secret.length >= MIN_SECRET_LENGTH) {
      for (const form of [secret, encodeURIComponent(secret)]) {
        redacted = redacted.replace(valuePattern(form), MASK);
      }
    }
  }
  return redacted;
}

/**
 * Where a secret stands as a value. It is never a part of a name: the password
 * `portal` is not in `portal_admin`. One that is a word is a value only where values
 * stand, after `=` or `:`, before `@` or between single quotes; elsewhere it is the word,
 * such as the name of the user whose password is the same.
 */
function valuePattern(secret: string): RegExp {
  const literal = secret.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const whole = [
    /^[\w$]/.test(secret) ? '(?<![\\w$])' : '',
    literal,
    /[\w$]$/.test(secret) ? '(?![\\w$])' : '',
  ].join('');
  return new RegExp(
    WORD.test(secret)
      ? `(?<=[=:]["']?)${whole}|${whole}(?=@)|(?<=')${whole}(?=')`
      : whole,
    'g',
  );
}
