import { z } from 'zod';
import type {
  AcceptInvitation,
  CatalogPrincipal,
  CreatedInvitation,
  CreateInvitation,
  FindPrincipals,
  ListMembers,
  PutMember,
  TenantInvitation,
  TenantMember,
} from '../types';
import { integer, pageFields, principal, role, time, uuid } from './fields';

const LONGEST_SEARCH = 100;
const MOST_PRINCIPALS = 50;
const LONGEST_ADDRESS = 254;
const ADDRESS = `an e-mail address of at most ${LONGEST_ADDRESS} characters`;
const TOKEN = 'the token of an invitation';

// Beside what nobody types: PostgreSQL keeps no NUL character, and a lone surrogate has no
// UTF-8 form.
const UNFIT = /[\p{Cc}\p{Surrogate}]/u;

/**
 * Which part of a list is asked for, with the defaults filled in.
 *
 * @public
 */
export const pageSchema: z.ZodType<Required<ListMembers>> = z.strictObject(
  pageFields,
  { error: 'an object' },
);

/**
 * The body of `PUT /api/tenants/:slug/members/:principal`.
 *
 * @public
 */
export const putMemberSchema: z.ZodType<PutMember> = z.strictObject(
  { role },
  { error: 'an object with role' },
);

/**
 * The query of `GET /api/tenants/:slug/principals`, with the default filled in.
 *
 * @public
 */
export const findPrincipalsSchema: z.ZodType<
  Pick<FindPrincipals, 'search'> & { principal?: string[]; limit: number }
> = z.strictObject(
  {
    search: z
      .string({ error: 'a text' })
      .transform(value => value.trim())
      .refine(
        value =>
          value.length > 0 &&
          value.length <= LONGEST_SEARCH &&
          !UNFIT.test(value),
        `a text of 1 to ${LONGEST_SEARCH} characters without control characters`,
      )
      .optional(),
    principal: z
      .array(z.string(), { error: 'a list of references' })
      .min(1, 'a list of references')
      .max(MOST_PRINCIPALS, `at most ${MOST_PRINCIPALS} references`)
      .optional(),
    limit: integer(1, MOST_PRINCIPALS).default(20),
  },
  { error: 'an object' },
);

/**
 * The body of `POST /api/tenants/:slug/invitations`, with the default filled in.
 *
 * @public
 */
export const createInvitationSchema: z.ZodType<
  CreateInvitation & { valid_days: number }
> = z.strictObject(
  {
    role,
    email: z
      .string({ error: ADDRESS })
      .max(LONGEST_ADDRESS, ADDRESS)
      .regex(
        /^[^\s\p{Cc}\p{Surrogate}@]+@[^\s\p{Cc}\p{Surrogate}@]+$/u,
        ADDRESS,
      )
      .optional(),
    valid_days: integer(1, 90).default(7),
  },
  { error: 'an object with role' },
);

/**
 * The body of `POST /api/tenants/mine/accepted-invitations`.
 *
 * @public
 */
export const acceptInvitationSchema: z.ZodType<AcceptInvitation> =
  z.strictObject(
    { token: z.string({ error: TOKEN }).max(200, TOKEN) },
    { error: 'an object with token' },
  );

/**
 * A member of a tenant.
 *
 * @public
 */
export const tenantMemberSchema: z.ZodType<TenantMember> = z.object({
  principal,
  role,
  created_by: z.string(),
  created_at: time,
});

const invitation = z.object({
  id: uuid,
  role,
  email: z.string().max(LONGEST_ADDRESS).nullable(),
  created_by: z.string(),
  created_at: time,
  expires_at: time,
  state: z.enum(['open', 'accepted', 'expired']),
  accepted_by: z.string().nullable(),
  accepted_at: time.nullable(),
});

/**
 * An invitation into a tenant.
 *
 * @public
 */
export const tenantInvitationSchema: z.ZodType<TenantInvitation> = invitation;

/**
 * An invitation that was just made.
 *
 * @public
 */
export const createdInvitationSchema: z.ZodType<CreatedInvitation> =
  invitation.extend({
    token: z.string(),
    link: z.string(),
    sent: z.boolean(),
  });

/**
 * A user or group of the identity catalog.
 *
 * @public
 */
export const catalogPrincipalSchema: z.ZodType<CatalogPrincipal> = z.object({
  principal,
  kind: z.enum(['group', 'user']),
  display_name: z.string().nullable(),
});
