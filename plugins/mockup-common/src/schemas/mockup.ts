import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import { layoutSchema } from './layout';
import { flag, layoutItemSchema } from './layoutItem';
import { boundedList, boundedText } from './text';

/** Not only blanks: a link to the mockup is made of it. */
export const name = boundedText(1, MOCKUP_LIMITS.name).regex(/\S/, {
  error: 'a string that is not only blanks',
});
export const description = boundedText(0, MOCKUP_LIMITS.description);
export const versionTag = boundedText(0, MOCKUP_LIMITS.versionTag);
export const message = boundedText(0, MOCKUP_LIMITS.message);
export const timestamp = z.iso.datetime({ precision: 3 });
export const userRef = z.string().regex(/^user:[^/]+\/.+$/);

/** The body of `POST /mockups`. @public */
export const createMockupRequestSchema = z.strictObject(
  {
    /** 1 to 255 characters. */
    name,
    /** At most 1000 characters. */
    description: description.optional(),
  },
  { error: 'an object with a name' },
);

/** What a caller says of a new mockup. @public */
export type CreateMockupRequest = z.infer<typeof createMockupRequestSchema>;

const CHANGES = 'an object with a name, a description, or both';

/** The body of `PATCH /mockups/:id`: what changes, at least one field. @public */
export const updateMockupRequestSchema = z
  .strictObject(
    {
      /** 1 to 255 characters. */
      name: name.optional(),
      /** At most 1000 characters; `null` removes the description. */
      description: description.nullable().optional(),
    },
    { error: CHANGES },
  )
  .refine(changes => Object.keys(changes).length > 0, { error: CHANGES })
  .meta({ minProperties: 1 });

/** What a caller changes of a mockup, at least one field. @public */
export type UpdateMockupRequest = z.infer<typeof updateMockupRequestSchema>;

/** The body of `POST /mockups/:id/versions`. @public */
export const saveVersionRequestSchema = z.strictObject(
  {
    /** At most 1000 items, no two with the same `i`. */
    layoutData: layoutSchema,
    /** A name for the version, at most 50 characters. */
    versionTag: versionTag.optional(),
    /** What has changed, at most 1000 characters. */
    message: message.optional(),
  },
  { error: 'an object with layoutData' },
);

/** A layout to keep as the next version of a mockup. @public */
export type SaveVersionRequest = z.infer<typeof saveVersionRequestSchema>;

/** The body of `PATCH /mockups/:id/versions/:vid`. A `versionTag` of `null` removes it. @public */
export const updateVersionRequestSchema = z.strictObject(
  {
    /** A name for the version, at most 50 characters; `null` removes it. */
    versionTag: versionTag.nullable(),
  },
  { error: 'an object with a versionTag' },
);

/** What a caller changes of a version. @public */
export type UpdateVersionRequest = z.infer<typeof updateVersionRequestSchema>;

/** The body of `POST /mockups/:id/duplicate`. @public */
export const duplicateMockupRequestSchema = z.strictObject(
  {
    /**
     * 1 to 255 characters; where it is not given, the name of the original with
     * ` (copy)` behind it.
     */
    name: name.optional(),
    /**
     * Whether the copy gets all versions of the original, with who saved them and when.
     * Otherwise it gets the newest layout, as a version that the caller saves now.
     */
    withHistory: flag.optional(),
  },
  { error: 'an object, in which a name and withHistory may be' },
);

/** What a caller says of the copy of a mockup. @public */
export type DuplicateMockupRequest = z.infer<
  typeof duplicateMockupRequestSchema
>;

const GROUP_REF = 'a group as group:<namespace>/<name>';

/** What the catalog takes as a namespace and a name, in lower case. */
export const GROUP_PATTERN =
  /^group:(?=[^/]{1,63}\/)[a-z0-9]+(-+[a-z0-9]+)*\/[a-z0-9]([a-z0-9_.-]{0,61}[a-z0-9])?$/;

/**
 * The reference of a group, in the form that such references have among the claims of a user.
 *
 * @public
 */
export const groupRefSchema = z
  .string({ error: GROUP_REF })
  .toLowerCase()
  .regex(GROUP_PATTERN, { error: GROUP_REF });

const share = z.strictObject(
  {
    /** The group, as `group:<namespace>/<name>` in lower case. */
    group: groupRefSchema,
    /** Whether the members only read the mockup, or change it and save versions, too. */
    access: z.enum(['read', 'write'], { error: 'read or write' }),
  },
  { error: 'an object with a group and an access' },
);
const SHARES = `a list of at most ${MOCKUP_LIMITS.shares} groups, each once`;

/** The body of `PUT /mockups/:id/shares`. @public */
export const shareMockupRequestSchema = z.strictObject(
  {
    /** At most 50, each group once. */
    shares: boundedList(
      MOCKUP_LIMITS.shares,
      SHARES,
      z.array(share, { error: SHARES }),
    ).refine(
      shares =>
        new Set(shares.map(({ group }) => group)).size === shares.length,
      { error: SHARES },
    ),
  },
  { error: 'an object with shares' },
);

/** With whom to share a mockup, instead of those it is shared with. @public */
export type ShareMockupRequest = z.infer<typeof shareMockupRequestSchema>;

/** A mockup. @public */
export const mockupSchema = z.strictObject({
  /** A UUID. */
  id: z.uuid(),
  /** 1 to 255 characters. */
  name,
  /** At most 1000 characters. */
  description: description.optional(),
  /** The user who created it, as `user:<namespace>/<name>`. */
  owner: userRef,
  /** When it was created, in ISO 8601 and UTC. */
  createdAt: timestamp,
  /** When it last changed or a version was saved, in ISO 8601 and UTC. */
  updatedAt: timestamp,
  /** The groups that it is shared with, by name; left out where there are none. */
  shares: z.array(share).optional(),
});

/** A UI mockup (specification, A.1). @public */
export type Mockup = z.infer<typeof mockupSchema>;

/** A saved layout of a mockup. @public */
export const versionSchema = z.strictObject({
  /** A UUID. */
  id: z.uuid(),
  /** The id of the mockup. */
  mockupId: z.uuid(),
  /** A name for the version, at most 50 characters. */
  versionTag: versionTag.optional(),
  /** What has changed, at most 1000 characters. */
  message: message.optional(),
  /** The layout. */
  layoutData: z.array(layoutItemSchema),
  /** The user who saved it, as `user:<namespace>/<name>`. */
  createdBy: userRef,
  /** When it was saved, in ISO 8601 and UTC. */
  createdAt: timestamp,
  /**
   * The id of the version whose layout this one took over, where it was made by
   * restoring that.
   */
  restoredFrom: z.uuid().optional(),
});

/** A saved layout of a mockup (specification, A.2). Only its tag can change. @public */
export type Version = z.infer<typeof versionSchema>;

/** A deleted mockup that can still be restored. @public */
export const trashedMockupSchema = mockupSchema.extend({
  /** When it was deleted, in ISO 8601 and UTC. */
  deletedAt: timestamp,
  /**
   * The user who deleted it, as `user:<namespace>/<name>`; left out where no request did.
   */
  deletedBy: userRef.optional(),
  /**
   * When the trash ceases to keep it, in ISO 8601 and UTC; left out where it is kept for
   * ever.
   */
  purgedAfter: timestamp.optional(),
});

/** A deleted mockup that can still be restored. @public */
export type TrashedMockup = z.infer<typeof trashedMockupSchema>;

/** A mockup together with its newest version, which is `null` while there is none. @public */
export const mockupWithLatestVersionSchema = mockupSchema.extend({
  /** The newest version, `null` while there is none. */
  latestVersion: versionSchema.nullable(),
});

/** A mockup together with its newest version. @public */
export type MockupWithLatestVersion = z.infer<
  typeof mockupWithLatestVersionSchema
>;

/**
 * A group that a mockup is shared with. What that allows is for the permission policy to
 * decide, with the rule `IS_SHARED_WITH`.
 *
 * @public
 */
export type MockupShare = ShareMockupRequest['shares'][number];

/** What a mockup is shared for. @public */
export type MockupAccess = MockupShare['access'];
