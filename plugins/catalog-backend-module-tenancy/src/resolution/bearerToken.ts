// Backstage's own pattern: a token that only Backstage recognized would bypass
// `tenancy.requireMatchingToken`.
const BEARER = /^Bearer[ ]+(\S+)$/i;

/** The token in a header `Authorization`, not verified. */
export function bearerToken(
  authorization: string | undefined,
): string | undefined {
  return authorization?.match(BEARER)?.[1];
}
