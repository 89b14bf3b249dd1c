const MASK = '***';

// Shorter ones are found all over ordinary words; what is printed of them is
// caught by the patterns below.
const MIN_SECRET_LENGTH = 4;

const CREDENTIALS_OF_URL = /([a-z][a-z0-9+.-]*:\/\/)[^\s"'<>]*@/gi;
const NAMED_SECRET =
  /\b((?:password|passwd|token|secret)\s*[=:]\s*)[^\s&,;]+/gi;

/** A text without passwords: those that are known, and whatever looks like one. */
export function redact(text: string, secrets: Iterable<string> = []): string {
  let redacted = text
    .replace(CREDENTIALS_OF_URL, `$1${MASK}@`)
    .replace(NAMED_SECRET, `$1${MASK}`);
  for (const secret of secrets) {
    if (secret.length >= MIN_SECRET_LENGTH) {
      redacted = redacted
        .replaceAll(secret, MASK)
        .replaceAll(encodeURIComponent(secret), MASK);
    }
  }
  return redacted;
}
