import { z } from 'zod';
import { integer, pageFields, principal, role, time, uuid } from './fields';

const LONGEST_SEARCH = 100;
const MOST_PRINCIPALS = 50;
const LONGEST_ADDRESS = 254;
const ADDRESS = `an e-mail address of at most ${LONGEST_ADDRESS} characters`;
const TOKEN = 'the token of an invitation';

// Beside what nobody types: PostgreSQL keeps no NUL character, and a lone surrogate has no
// UTF-8 form.
const UNFIT = /[\p{Cc}\p{Surrogate}]/u;

/** Which part of a list is asked for, with the defaults filled in. @public */
export const pageSchema = z.strictObject(pageFields, { error: 'an object' });

/** Which part of a list is asked for. @public */
export type ListMembers = z.input<typeof pageSchema>;

/** The body of `PUT /api/tenants/:slug/members/:principal`. @public */
export const putMemberSchema = z.strictObject(
  { role },
  { error: 'an object with role' },
);

/** What a member is to be. @public */
export type PutMember = z.infer<typeof putMemberSchema>;

/** The query of `GET /api/tenants/:slug/principals`, with the default filled in. @public */
export const findPrincipalsSchema = z.strictObject(
  {
    /**
     * A part of the name, the display name or the title, in any case: 1 to 100 characters. All
     * match by default.
     */
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
    /** Those of these references that the catalog has; 50 at most. */
    principal: z
      .array(z.string(), { error: 'a list of references' })
      .min(1, 'a list of references')
      .max(MOST_PRINCIPALS, `at most ${MOST_PRINCIPALS} references`)
      .optional(),
    /** 1 to 50; 20 by default. Named ones are not limited by it. */
    limit: integer(1, MOST_PRINCIPALS).default(20),
  },
  { error: 'an object' },
);

/** The body of `POST /api/tenants/:slug/invitations`, with the default filled in. @public */
export const createInvitationSchema = z.strictObject(
  {
    /** What the invited person is to be. */
    role,
    /** Only somebody with this address in the identity catalog can accept; 254 characters at most. */
    email: z
      .string({ error: ADDRESS })
      .max(LONGEST_ADDRESS, ADDRESS)
      .regex(
        /^[^\s\p{Cc}\p{Surrogate}@]+@[^\s\p{Cc}\p{Surrogate}@]+$/u,
        ADDRESS,
      )
      .optional(),
    /** For how many days it can be accepted: 1 to 90; 7 by default. */
    valid_days: integer(1, 90).default(7),
  },
  { error: 'an object with role' },
);

/** An invitation that is to be made. @public */
export type CreateInvitation = z.input<typeof createInvitationSchema>;

/** The body of `POST /api/tenants/mine/accepted-invitations`. @public */
export const acceptInvitationSchema = z.strictObject(
  /** As in {@link CreatedInvitation.token}. */
  { token: z.string({ error: TOKEN }).max(200, TOKEN) },
  { error: 'an object with token' },
);

/** What accepts an invitation. @public */
export type AcceptInvitation = z.infer<typeof acceptInvitationSchema>;

/** A member of a tenant. @public */
export const tenantMemberSchema = z.object({
  /**
   * A user as `user:<namespace>/<name>`, a group as `group:<namespace>/<name>`, both in
   * lower case, or the subject of an external service.
   */
  principal,
  /** What the member may do. */
  role,
  /** The user or service that added the member. */
  created_by: z.string(),
  /** ISO 8601, UTC */
  created_at: time,
});

/** A member of a tenant, as the API shows it. @public */
export type TenantMember = z.infer<typeof tenantMemberSchema>;

/** An invitation into a tenant. @public */
export const tenantInvitationSchema = z.object({
  /** A UUID. It accepts nothing. */
  id: uuid,
  /** What the invited person will be there. */
  role,
  /**
   * In lower case: only somebody with this address in the identity catalog can accept. Null
   * for whoever has the link.
   */
  email: z.string().max(LONGEST_ADDRESS).nullable(),
  /** The user or service that invites. */
  created_by: z.string(),
  /** ISO 8601, UTC, as all times here */
  created_at: time,
  /** When it can no longer be accepted. */
  expires_at: time,
  /** Whether it can be accepted, was, or never can be. */
  state: z.enum(['open', 'accepted', 'expired']),
  /** The user who has accepted it. */
  accepted_by: z.string().nullable(),
  /** When that was. */
  accepted_at: time.nullable(),
});

/** An invitation into a tenant, as the API shows it. @public */
export type TenantInvitation = z.infer<typeof tenantInvitationSchema>;

/** An invitation that was just made. @public */
export const createdInvitationSchema = tenantInvitationSchema.extend({
  /** Accepts the invitation, once. It can't be had again. */
  token: z.string(),
  /** The page of the portal that accepts it. */
  link: z.string(),
  /** Whether it was sent to its address. */
  sent: z.boolean(),
});

/** An invitation that was just made. @public */
export type CreatedInvitation = z.infer<typeof createdInvitationSchema>;

/** A user or group of the identity catalog. @public */
export const catalogPrincipalSchema = z.object({
  /** As in {@link TenantMember.principal}. */
  principal,
  /** Whether it is one person or several. */
  kind: z.enum(['group', 'user']),
  /** What people call it: its display name or title; null if it has none. */
  display_name: z.string().nullable(),
});

/**
 * A user or group of the identity catalog, which is the default tenant's: who can become a
 * member of any tenant.
 *
 * @public
 */
export type CatalogPrincipal = z.infer<typeof catalogPrincipalSchema>;
