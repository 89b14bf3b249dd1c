import { createHmac } from 'node:crypto';

/** What one attempt to sign in is bound to. */
export interface Attempt {
  /** Of the cookie that the browser got when the attempt began. */
  browserNonce: string;
  tenantId: string;
  /** Of the provider that it began at. */
  issuer: string;
}

/**
 * What the provider has to return, and what the code of the attempt is worthless without. Both
 * are derived, so that nothing of an attempt is kept between its two requests: an answer for
 * another browser, tenant or provider has others.
 */
export function flowSecretsOf(
  key: string,
  { browserNonce, tenantId, issuer }: Attempt,
): { nonce: string; codeVerifier: string } {
  const derive = (purpose: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([purpose, tenantId, issuer, browserNonce]))
      .digest('base64url');
  return { nonce: derive('nonce'), codeVerifier: derive('verifier') };
}
