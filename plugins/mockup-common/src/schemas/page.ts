import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import { flag, layoutItemSchema } from './layoutItem';
import { GROUP_PATTERN, name, timestamp, userRef, versionTag } from './mockup';

const PATH = `1 to ${MOCKUP_LIMITS.pagePath} lower-case letters, digits and single hyphens, such as team-start`;
const AUDIENCE =
  'everybody, a group as group:<namespace>/<name>, or role:viewer, role:member or role:admin';
const MOCKUP_ID = 'the id of a mockup, a UUID';
const VERSION_ID = 'the id of a version, a UUID';

/** The path of a page. @public */
export const pagePathSchema = z
  .string({ error: PATH })
  .max(MOCKUP_LIMITS.pagePath, { error: PATH })
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, { error: PATH });

const AUDIENCE_PATTERN = new RegExp(
  `^everybody$|^role:(viewer|member|admin)$|${GROUP_PATTERN.source}`,
);

/**
 * For whom a page is, beside the user who published it: everybody in the tenant, the members of a
 * group, or those who have a role in the tenant or a higher one.
 *
 * @public
 */
export type PageAudience =
  | 'everybody'
  | `group:${string}`
  | `role:${'viewer' | 'member' | 'admin'}`;

const audience = z
  .string({ error: AUDIENCE })
  .toLowerCase()
  .regex(AUDIENCE_PATTERN, {
    error: AUDIENCE,
  }) as unknown as z.ZodType<PageAudience>;

/** The body of `PUT /pages/:path`. @public */
export const publishPageRequestSchema = z.strictObject(
  {
    /** The id of the mockup. */
    mockupId: z.uuid({ error: MOCKUP_ID }),
    /** The id of the version. */
    versionId: z.uuid({ error: VERSION_ID }),
    /** For whom it is. As the next ones, where it is not given it stays as the page has it. */
    audience: audience.optional(),
    /** 1 to 255 characters; of a new page, the name of the mockup where it is not given. */
    title: name.optional(),
    /**
     * Whether it is the home page of its audience, in place of the one before. In a tenant with
     * roles, only admins make a page one.
     */
    home: flag.optional(),
    /** Whether its readers may begin mockups with its layout. */
    template: flag.optional(),
  },
  { error: 'an object with a mockupId and a versionId' },
);

/** A version of a mockup to show as a page. @public */
export type PublishPageRequest = z.infer<typeof publishPageRequestSchema>;

const publication = z.strictObject({
  /** The id of the mockup. */
  mockupId: z.uuid(),
  /** The id of the version. */
  versionId: z.uuid(),
  /** The tag of the version, where it has one. */
  versionTag: versionTag.optional(),
  /** For whom the page is. */
  audience,
  /** Whether it is the home page of its audience. */
  home: z.boolean(),
  /** The user who published it, as `user:<namespace>/<name>`. */
  publishedBy: userRef,
  /** When it was published, in ISO 8601 and UTC. */
  publishedAt: timestamp,
});

/** A page of the portal, without what is on it. @public */
export const publishedPageSchema = z.strictObject({
  /** The last segment of its address: lower-case letters, digits and single hyphens. */
  path: pagePathSchema,
  /** What it is called. */
  title: name,
  /** Set if mockups may begin with its layout. */
  template: z.literal(true).optional(),
  /** Where it comes from; left out for those who may not publish it. */
  publication: publication.optional(),
});

/** A page of the portal, without what is on it. @public */
export type PublishedPage = z.infer<typeof publishedPageSchema>;

/** A page of the portal. @public */
export const publishedPageWithLayoutSchema = publishedPageSchema.extend({
  /** The layout of the published version. */
  layoutData: z.array(layoutItemSchema),
});

/** A page of the portal. @public */
export type PublishedPageWithLayout = z.infer<
  typeof publishedPageWithLayoutSchema
>;

/** Which version of a mockup is a page, and who has published it. @public */
export type PagePublication = NonNullable<PublishedPage['publication']>;
