import { z } from 'zod';
import { boundedList, role, time } from './fields';

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
  /** As the provider's metadata has it. Over http only to what the operator lists. */
  issuer: text(ISSUER, 2048)
    .regex(/^https?:\/\/[^/?#@]+(\/[^?#]*)?$/, ISSUER)
    .refine(value => URL.canParse(value), ISSUER),
  /** What the provider calls this portal. */
  client_id: text('the id of the client'),
  /**
   * A reference to the client's secret, which is not stored: `${NAME}`, an environment variable
   * that the operator lists for the tenant, or `{ $file: 'name' }` in the tenant's folder of
   * secrets.
   */
  client_secret: z.union(
    [
      z.string().regex(/^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/),
      z.strictObject({
        $file: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$/),
      }),
    ],
    { error: SECRET },
  ),
  /** Asked for beside `openid`, `profile` and `email`, such as `offline_access`. */
  scopes: boundedList(
    20,
    SCOPES,
    z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/), {
      error: SCOPES,
    }),
  ).optional(),
  /** Only verified addresses of these domains sign in; any do without it. */
  allowed_domains: boundedList(
    20,
    DOMAINS,
    z
      .array(
        z
          .string({ error: DOMAINS })
          .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/i, DOMAINS)
          .transform(domain => domain.toLowerCase()),
        { error: DOMAINS },
      )
      .min(1, DOMAINS),
  ).optional(),
  /** The role of somebody who signs in without being a member; without it, they are refused. */
  auto_join: role.optional(),
  /** Has the name of the user: `preferred_username` by default. */
  name_claim: claim.optional(),
  /** Has the address: `email` by default. */
  email_claim: claim.optional(),
  /** Has the names of groups: `groups` by default. */
  groups_claim: claim.optional(),
  /** The role of members of a group; the highest counts, and is given at each sign-in. */
  roles: z
    .preprocess((value, context) => {
      // zod would leave it out.
      if (Object.hasOwn(Object(value), '__proto__')) {
        const message = 'the role of a group of another name';
        context.addIssue({ code: 'custom', message, path: ['__proto__'] });
      }
      return value;
    }, z.record(text('the name of a group'), role))
    .optional(),
};

/** The body of `PUT /api/tenants/:slug/sign-in`. @public */
export const putTenantSignInSchema = z.strictObject(fields, {
  error: 'an object with issuer, client_id and client_secret',
});

/**
 * The OpenID provider by which the people of a tenant are to sign in. They are
 * `user:<slug of the tenant>/<name>`.
 *
 * @public
 */
export type PutTenantSignIn = z.infer<typeof putTenantSignInSchema>;

/** The OpenID provider of a tenant. @public */
export const tenantSignInSchema = z.object({
  ...fields,
  /** The user or service that wrote it last. */
  updated_by: z.string(),
  /** ISO 8601, UTC */
  updated_at: time,
});

/** The OpenID provider of a tenant, as the API shows it. @public */
export type TenantSignIn = z.infer<typeof tenantSignInSchema>;
