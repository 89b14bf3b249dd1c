import { z } from 'zod';
import type { PutTenantSignIn, TenantSignIn } from '../types';
import { role, time } from './fields';

const ISSUER =
  'the URL of an issuer, without a query, a fragment and a password';
const SECRET =
  '${NAME} or { "$file": "name" }: the secret itself is kept nowhere here';
const DOMAINS = 'a list of 1 to 20 domains such as "example.com"';
const SCOPES = 'a list of at most 20 scopes';

const text = (what: string, most = 255) =>
  z
    .string({ error: what })
    .min(1, what)
    .max(most, what)
    .regex(/^[^\p{Cc}\p{Surrogate}]*$/u, what);
const claim = text('the name of a claim', 100);

const fields = {
  issuer: text(ISSUER, 2048).refine(isIssuer, ISSUER),
  client_id: text('the id of the client'),
  client_secret: z.union(
    [
      z.string().regex(/^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/),
      z.strictObject({
        $file: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$/),
      }),
    ],
    { error: SECRET },
  ),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/), {
      error: SCOPES,
    })
    .max(20, SCOPES)
    .optional(),
  allowed_domains: z
    .array(
      z
        .string({ error: DOMAINS })
        .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i, DOMAINS)
        .transform(domain => domain.toLowerCase()),
      { error: DOMAINS },
    )
    .min(1, DOMAINS)
    .max(20, DOMAINS)
    .optional(),
  auto_join: role.optional(),
  name_claim: claim.optional(),
  email_claim: claim.optional(),
  groups_claim: claim.optional(),
  roles: z.record(text('the name of a group'), role).optional(),
};

/**
 * The body of `PUT /api/tenants/:slug/sign-in`.
 *
 * @public
 */
export const putTenantSignInSchema: z.ZodType<PutTenantSignIn> = z.strictObject(
  fields,
  { error: 'an object with issuer, client_id and client_secret' },
);

/**
 * The OpenID provider of a tenant.
 *
 * @public
 */
export const tenantSignInSchema: z.ZodType<TenantSignIn> = z.object({
  ...fields,
  updated_by: z.string(),
  updated_at: time,
});

/** Over http only to what the operator lists, which whoever connects decides. */
function isIssuer(value: string): boolean {
  if (!URL.canParse(value)) {
    return false;
  }
  const { protocol, username, password, search, hash } = new URL(value);
  return (
    /^https?:$/.test(protocol) &&
    [username, password, search, hash].every(part => part === '')
  );
}
