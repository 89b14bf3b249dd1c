import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import { layoutItemSchema, layoutSchema } from './layout';
import { boundedText } from './text';

const name = boundedText(1, MOCKUP_LIMITS.name);
const description = boundedText(0, MOCKUP_LIMITS.description);
const versionTag = boundedText(0, MOCKUP_LIMITS.versionTag);
const CHANGES = 'an object with a name, a description, or both';
const timestamp = z.iso.datetime({ precision: 3 });
const userRef = z.string().regex(/^user:[^/]+\/.+$/);

/**
 * The body of `POST /mockups`.
 *
 * @public
 */
export const createMockupRequestSchema = z.strictObject(
  { name, description: description.optional() },
  { error: 'an object with a name' },
);

/**
 * The body of `PATCH /mockups/:id`: what changes, at least one field. A
 * `description` of `null` removes it.
 *
 * @public
 */
export const updateMockupRequestSchema = z
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
export const saveVersionRequestSchema = z.strictObject(
  { layoutData: layoutSchema, versionTag: versionTag.optional() },
  { error: 'an object with layoutData' },
);

/**
 * A mockup (specification, A.1).
 *
 * @public
 */
export const mockupSchema = z.strictObject({
  id: z.uuid(),
  name,
  description: description.optional(),
  owner: userRef,
  createdAt: timestamp,
  updatedAt: timestamp,
});

/**
 * An immutable saved layout of a mockup (specification, A.2).
 *
 * @public
 */
export const versionSchema = z.strictObject({
  id: z.uuid(),
  mockupId: z.uuid(),
  versionTag: versionTag.optional(),
  layoutData: z.array(layoutItemSchema),
  createdBy: userRef,
  createdAt: timestamp,
});

/**
 * A mockup together with its newest version, which is `null` while there is
 * none.
 *
 * @public
 */
export const mockupWithLatestVersionSchema = mockupSchema.extend({
  latestVersion: versionSchema.nullable(),
});

/**
 * What a caller says of a new mockup.
 *
 * @public
 */
export type CreateMockupRequest = z.infer<typeof createMockupRequestSchema>;

/**
 * What a caller changes of a mockup; `description: null` removes it.
 *
 * @public
 */
export type UpdateMockupRequest = z.infer<typeof updateMockupRequestSchema>;

/**
 * A layout to keep as the next version of a mockup.
 *
 * @public
 */
export type SaveVersionRequest = z.infer<typeof saveVersionRequestSchema>;

/**
 * A UI mockup. `owner` is a user reference of the form
 * `user:<namespace>/<name>`, timestamps are ISO 8601 in UTC.
 *
 * @public
 */
export type Mockup = z.infer<typeof mockupSchema>;

/**
 * A saved layout of a mockup; it never changes.
 *
 * @public
 */
export type Version = z.infer<typeof versionSchema>;

/**
 * A mockup with its newest version, `null` while nothing was saved.
 *
 * @public
 */
export type MockupWithLatestVersion = z.infer<
  typeof mockupWithLatestVersionSchema
>;
