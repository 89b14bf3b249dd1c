import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import { flag } from './layoutItem';
import { timestamp, userRef } from './mockup';
import { boundedText } from './text';

const text = boundedText(1, MOCKUP_LIMITS.comment).regex(/\S/, {
  error: 'a string that is not only blanks',
});
const item = boundedText(1, MOCKUP_LIMITS.commentItem);

/** The body of `POST /mockups/:id/comments`. @public */
export const createCommentRequestSchema = z.strictObject(
  {
    /** 1 to 2000 characters. Users of the tenant's catalog that it mentions are notified. */
    text,
    /** The item that it is about, by its `i`, at most 255 characters. */
    item: item.optional(),
  },
  { error: 'an object with a text' },
);

/** What a caller says of a mockup. @public */
export type CreateCommentRequest = z.infer<typeof createCommentRequestSchema>;

/** The body of `PATCH /mockups/:id/comments/:cid`. @public */
export const updateCommentRequestSchema = z.strictObject(
  {
    /** Whether it is resolved, or open again. */
    resolved: flag,
  },
  { error: 'an object with resolved, true or false' },
);

/** What a caller changes of a comment. @public */
export type UpdateCommentRequest = z.infer<typeof updateCommentRequestSchema>;

/** What somebody says of a mockup. @public */
export const mockupCommentSchema = z.strictObject({
  /** A UUID. */
  id: z.uuid(),
  /** The id of the mockup. */
  mockupId: z.uuid(),
  /** The item that it is about, by its `i`; left out where it is about the whole. */
  item: item.optional(),
  /** 1 to 2000 characters. `@user:<namespace>/<name>` or `@<name>` mentions a user. */
  text,
  /** The user who said it, as `user:<namespace>/<name>`. */
  author: userRef,
  /** When it was said, in ISO 8601 and UTC. */
  createdAt: timestamp,
  /** The user who has resolved it; left out while it is open. */
  resolvedBy: userRef.optional(),
  /** When it was resolved, in ISO 8601 and UTC; left out while it is open. */
  resolvedAt: timestamp.optional(),
});

/** What somebody says of a mockup. @public */
export type MockupComment = z.infer<typeof mockupCommentSchema>;

/** A version that a reviewer has marked as ready. @public */
export const readyVersionSchema = z.strictObject({
  /** The id of the version. */
  versionId: z.uuid(),
  /** The reviewer, as `user:<namespace>/<name>`. */
  readyBy: userRef,
  /** When it was marked, in ISO 8601 and UTC. */
  readyAt: timestamp,
});

/** A version that a reviewer has marked as ready. @public */
export type ReadyVersion = z.infer<typeof readyVersionSchema>;

/** How far the review of a mockup is. @public */
export const mockupReviewSchema = z.strictObject({
  /** Whether a version has to be ready before it is published. */
  isRequired: flag,
  /** The versions that are ready, the last one that was marked first, at most 500. */
  ready: z.array(readyVersionSchema).max(MOCKUP_LIMITS.pageSize),
});

/** How far the review of a mockup is. @public */
export type MockupReview = z.infer<typeof mockupReviewSchema>;

/** What a tenant has decided on its mockups, and the body of `PUT /settings`. @public */
export const mockupSettingsSchema = z.strictObject(
  {
    /** Whether a version has to be ready before it is published. */
    reviewRequired: flag,
  },
  { error: 'an object with reviewRequired, true or false' },
);

/** What a tenant has decided on its mockups. @public */
export type MockupSettings = z.infer<typeof mockupSettingsSchema>;
