import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import type {
  CreateMockupRequest,
  DuplicateMockupRequest,
  Mockup,
  MockupWithLatestVersion,
  RestoreVersionRequest,
  SaveVersionRequest,
  ShareMockupRequest,
  TrashedMockup,
  UpdateMockupRequest,
  UpdateVersionRequest,
  Version,
} from '../types';
import { layoutItemSchema, layoutSchema } from './layout';
import { boundedText } from './text';

/** Not only blanks: a link to the mockup is made of it. */
export const name = boundedText(1, MOCKUP_LIMITS.name).refine(
  text => text.trim() !== '',
  { error: 'a string that is not only blanks' },
);
export const description = boundedText(0, MOCKUP_LIMITS.description);
export const versionTag = boundedText(0, MOCKUP_LIMITS.versionTag);
export const message = boundedText(0, MOCKUP_LIMITS.message);
const CHANGES = 'an object with a name, a description, or both';
export const timestamp = z.iso.datetime({ precision: 3 });
export const userRef = z.string().regex(/^user:[^/]+\/.+$/);

/**
 * The body of `POST /mockups`.
 *
 * @public
 */
export const createMockupRequestSchema: z.ZodType<CreateMockupRequest> =
  z.strictObject(
    { name, description: description.optional() },
    { error: 'an object with a name' },
  );

/**
 * The body of `PATCH /mockups/:id`: what changes, at least one field. A
 * `description` of `null` removes it.
 *
 * @public
 */
export const updateMockupRequestSchema: z.ZodType<UpdateMockupRequest> = z
  .strictObject(
    {
      name: name.optional(),
      description: description.nullable().optional(),
    },
    { error: CHANGES },
  )
  .refine(changes => Object.keys(changes).length > 0, { error: CHANGES })
  .meta({ minProperties: 1 });

/**
 * The body of `POST /mockups/:id/versions`.
 *
 * @public
 */
export const saveVersionRequestSchema: z.ZodType<SaveVersionRequest> =
  z.strictObject(
    {
      layoutData: layoutSchema,
      versionTag: versionTag.optional(),
      message: message.optional(),
    },
    { error: 'an object with layoutData' },
  );

/**
 * The body of `PATCH /mockups/:id/versions/:vid`. A `versionTag` of `null` removes it.
 *
 * @public
 */
export const updateVersionRequestSchema: z.ZodType<UpdateVersionRequest> =
  z.strictObject(
    { versionTag: versionTag.nullable() },
    { error: 'an object with a versionTag' },
  );

/**
 * The body of `POST /mockups/:id/versions/:vid/restore`.
 *
 * @public
 */
export const restoreVersionRequestSchema: z.ZodType<RestoreVersionRequest> =
  z.strictObject(
    { versionTag: versionTag.optional() },
    { error: 'an object, in which a versionTag may be' },
  );

/**
 * The body of `POST /mockups/:id/duplicate`.
 *
 * @public
 */
export const duplicateMockupRequestSchema: z.ZodType<DuplicateMockupRequest> =
  z.strictObject(
    {
      name: name.optional(),
      withHistory: z.boolean({ error: 'true or false' }).optional(),
    },
    { error: 'an object, in which a name and withHistory may be' },
  );

const GROUP_REF = 'a group as group:<namespace>/<name>';

/** What the catalog takes as a namespace and a name, in lower case. */
const GROUP_PATTERN =
  /^group:(?=[^/]{1,63}\/)[a-z0-9]+(-+[a-z0-9]+)*\/[a-z0-9]([a-z0-9_.-]{0,61}[a-z0-9])?$/;

/**
 * The reference of a group, in the form that such references have among the claims of a user.
 *
 * @public
 */
export const groupRefSchema: z.ZodType<string> = z
  .string({ error: GROUP_REF })
  .toLowerCase()
  .regex(GROUP_PATTERN, { error: GROUP_REF });

const share = z.strictObject(
  {
    group: groupRefSchema,
    access: z.enum(['read', 'write'], { error: 'read or write' }),
  },
  { error: 'an object with a group and an access' },
);
const SHARES = `a list of at most ${MOCKUP_LIMITS.shares} groups, each once`;

/**
 * The body of `PUT /mockups/:id/shares`.
 *
 * @public
 */
export const shareMockupRequestSchema: z.ZodType<ShareMockupRequest> =
  z.strictObject(
    {
      shares: z
        .array(share, { error: SHARES })
        .max(MOCKUP_LIMITS.shares, { error: SHARES })
        .refine(
          shares =>
            new Set(shares.map(({ group }) => group)).size === shares.length,
          { error: SHARES },
        ),
    },
    { error: 'an object with shares' },
  );

const mockup = z.strictObject({
  id: z.uuid(),
  name,
  description: description.optional(),
  owner: userRef,
  createdAt: timestamp,
  updatedAt: timestamp,
  shares: z.array(share).optional(),
});

/**
 * A mockup.
 *
 * @public
 */
export const mockupSchema: z.ZodType<Mockup> = mockup;

/**
 * A saved layout of a mockup.
 *
 * @public
 */
export const versionSchema: z.ZodType<Version> = z.strictObject({
  id: z.uuid(),
  mockupId: z.uuid(),
  versionTag: versionTag.optional(),
  message: message.optional(),
  layoutData: z.array(layoutItemSchema),
  createdBy: userRef,
  createdAt: timestamp,
  restoredFrom: z.uuid().optional(),
});

/**
 * A deleted mockup that can still be restored.
 *
 * @public
 */
export const trashedMockupSchema: z.ZodType<TrashedMockup> = mockup.extend({
  deletedAt: timestamp,
  deletedBy: userRef.optional(),
  purgedAfter: timestamp.optional(),
});

/**
 * A mockup together with its newest version, which is `null` while there is
 * none.
 *
 * @public
 */
export const mockupWithLatestVersionSchema: z.ZodType<MockupWithLatestVersion> =
  mockup.extend({
    latestVersion: versionSchema.nullable(),
  });
