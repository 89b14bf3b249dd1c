import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import type {
  CreateCommentRequest,
  MockupComment,
  MockupReview,
  MockupSettings,
  ReadyVersion,
  UpdateCommentRequest,
} from '../types';
import { timestamp, userRef } from './mockup';
import { boundedText } from './text';

const text = boundedText(1, MOCKUP_LIMITS.comment).refine(
  value => value.trim() !== '',
  { error: 'a string that is not only blanks' },
);
const item = boundedText(1, MOCKUP_LIMITS.commentItem);
const flag = z.boolean({ error: 'true or false' });

/**
 * The body of `POST /mockups/:id/comments`.
 *
 * @public
 */
export const createCommentRequestSchema: z.ZodType<CreateCommentRequest> =
  z.strictObject(
    { text, item: item.optional() },
    { error: 'an object with a text' },
  );

/**
 * The body of `PATCH /mockups/:id/comments/:cid`.
 *
 * @public
 */
export const updateCommentRequestSchema: z.ZodType<UpdateCommentRequest> =
  z.strictObject(
    { resolved: flag },
    { error: 'an object with resolved, true or false' },
  );

/**
 * What somebody says of a mockup.
 *
 * @public
 */
export const mockupCommentSchema: z.ZodType<MockupComment> = z.strictObject({
  id: z.uuid(),
  mockupId: z.uuid(),
  item: item.optional(),
  text,
  author: userRef,
  createdAt: timestamp,
  resolvedBy: userRef.optional(),
  resolvedAt: timestamp.optional(),
});

/**
 * A version that a reviewer has marked as ready.
 *
 * @public
 */
export const readyVersionSchema: z.ZodType<ReadyVersion> = z.strictObject({
  versionId: z.uuid(),
  readyBy: userRef,
  readyAt: timestamp,
});

/**
 * How far the review of a mockup is.
 *
 * @public
 */
export const mockupReviewSchema: z.ZodType<MockupReview> = z.strictObject({
  isRequired: flag,
  ready: z.array(readyVersionSchema).max(MOCKUP_LIMITS.pageSize),
});

/**
 * What a tenant has decided on its mockups, and the body of `PUT /settings`.
 *
 * @public
 */
export const mockupSettingsSchema: z.ZodType<MockupSettings> = z.strictObject(
  { reviewRequired: flag },
  { error: 'an object with reviewRequired, true or false' },
);
