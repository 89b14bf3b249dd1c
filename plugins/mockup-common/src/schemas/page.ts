import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import type {
  PageAudience,
  PagePublication,
  PublishedPage,
  PublishedPageWithLayout,
  PublishPageRequest,
} from '../types';
import { layoutItemSchema } from './layout';
import { groupRefSchema, name, timestamp, userRef, versionTag } from './mockup';

const PATH = `1 to ${MOCKUP_LIMITS.pagePath} lower-case letters, digits and single hyphens, such as team-start`;
const AUDIENCE =
  'everybody, a group as group:<namespace>/<name>, or role:viewer, role:member or role:admin';
const MOCKUP_ID = 'the id of a mockup, a UUID';
const VERSION_ID = 'the id of a version, a UUID';

/**
 * The path of a page.
 *
 * @public
 */
export const pagePathSchema: z.ZodType<string> = z
  .string({ error: PATH })
  .max(MOCKUP_LIMITS.pagePath, { error: PATH })
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, { error: PATH });

const flag = z.boolean({ error: 'true or false' });
const AUDIENCES = ['everybody', 'role:viewer', 'role:member', 'role:admin'];

const audience = z
  .string({ error: AUDIENCE })
  .toLowerCase()
  .refine(
    text => AUDIENCES.includes(text) || groupRefSchema.safeParse(text).success,
    { error: AUDIENCE },
  ) as unknown as z.ZodType<PageAudience>;

/**
 * The body of `PUT /pages/:path`.
 *
 * @public
 */
export const publishPageRequestSchema: z.ZodType<PublishPageRequest> =
  z.strictObject(
    {
      mockupId: z.uuid({ error: MOCKUP_ID }),
      versionId: z.uuid({ error: VERSION_ID }),
      audience,
      title: name.optional(),
      home: flag.optional(),
      template: flag.optional(),
    },
    { error: 'an object with a mockupId, a versionId and an audience' },
  );

const publication: z.ZodType<PagePublication> = z.strictObject({
  mockupId: z.uuid(),
  versionId: z.uuid(),
  versionTag: versionTag.optional(),
  audience,
  home: z.boolean(),
  publishedBy: userRef,
  publishedAt: timestamp,
});

const page = z.strictObject({
  path: pagePathSchema,
  title: name,
  template: z.literal(true).optional(),
  publication: publication.optional(),
});

/**
 * A page of the portal, without what is on it.
 *
 * @public
 */
export const publishedPageSchema: z.ZodType<PublishedPage> = page;

/**
 * A page of the portal.
 *
 * @public
 */
export const publishedPageWithLayoutSchema: z.ZodType<PublishedPageWithLayout> =
  page.extend({ layoutData: z.array(layoutItemSchema) });
