import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import type {
  CreateMockupRequest,
  Mockup,
  MockupWithLatestVersion,
  SaveVersionRequest,
  UpdateMockupRequest,
  Version,
} from '../types';
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
    { layoutData: layoutSchema, versionTag: versionTag.optional() },
    { error: 'an object with layoutData' },
  );

const mockup = z.strictObject({
  id: z.uuid(),
  name,
  description: description.optional(),
  owner: userRef,
  createdAt: timestamp,
  updatedAt: timestamp,
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
export const mockupWithLatestVersionSchema: z.ZodType<MockupWithLatestVersion> =
  mockup.extend({
    latestVersion: versionSchema.nullable(),
  });
