import { parseIdempotencyKey } from '@internal/http';
import {
  createCommentRequestSchema,
  mockupSettingsSchema,
  updateCommentRequestSchema,
} from 'backstage-plugin-mockup-common';
import type { Request, Router } from 'express';
import type { Operations } from './operations';
import { parseBody } from './request/parse';
import { foundMockup, foundVersion, missing } from './response/found';

/** Adds the operations of reviews before publication. */
export function addReviewRoutes(router: Router, operations: Operations): void {
  router.get(
    '/mockups/:id/comments',
    operations.read('list-comments', async ({ req, res, review }) => {
      res.json(foundMockup(await review.listComments(req.params.id), req));
    }),
  );

  router.post(
    '/mockups/:id/comments',
    operations.write(
      'create-comment',
      async ({ req, res, review, user, notifyMentioned }) => {
        const options = { ...parseIdempotencyKey(req), author: user };
        const request = await parseBody(req, res, createCommentRequestSchema);
        const created = foundMockup(
          await review.createComment(req.params.id, request, options),
          req,
        );
        await notifyMentioned(created);
        res.status(201).json(created);
        return { cid: created.id };
      },
    ),
  );

  router.patch(
    '/mockups/:id/comments/:cid',
    operations.write('resolve-comment', async ({ req, res, review, user }) => {
      const { resolved } = await parseBody(
        req,
        res,
        updateCommentRequestSchema,
      );
      res.json(
        (await review.resolveComment(commentOf(req), resolved, user)) ||
          noSuchComment(req),
      );
      return { resolved };
    }),
  );

  router.delete(
    '/mockups/:id/comments/:cid',
    operations.write('delete-comment', async ({ req, res, review, user }) => {
      if (!(await review.deleteComment(commentOf(req), user))) {
        noSuchComment(req);
      }
      res.status(204).end();
    }),
  );

  router.get(
    '/mockups/:id/review',
    operations.read('get-review', async ({ req, res, review }) => {
      res.json(foundMockup(await review.getReview(req.params.id), req));
    }),
  );

  router.put(
    '/mockups/:id/versions/:vid/ready',
    operations.write('mark-version', async ({ req, res, review, user }) => {
      const { id, vid } = req.params;
      const version = { mockupId: id, versionId: vid };
      res.json(foundVersion(await review.markReady(version, user), req));
    }),
  );

  router.delete(
    '/mockups/:id/versions/:vid/ready',
    operations.write('unmark-version', async ({ req, res, review }) => {
      const { id, vid } = req.params;
      const version = { mockupId: id, versionId: vid };
      if (!(await review.unmarkReady(version))) {
        missing(`No version '${vid}' of a mockup '${id}' that is ready`);
      }
      res.status(204).end();
    }),
  );

  router.get(
    '/settings',
    operations.read('get-settings', async ({ res, review }) => {
      res.json(await review.getSettings());
    }),
  );

  router.put(
    '/settings',
    operations.write('update-settings', async ({ req, res, review, user }) => {
      const settings = await parseBody(req, res, mockupSettingsSchema);
      res.json(await review.updateSettings(settings, user));
      return { ...settings };
    }),
  );

  // A read operation without an audit event, because editors call it every few seconds.
  router.post(
    '/mockups/:id/editors',
    operations.read('announce-editor', async ({ req, res, review }) => {
      res.json(foundMockup(await review.announceEditor(req.params.id), req));
    }),
  );
}

function commentOf({ params }: Request) {
  return { mockupId: params.id, id: params.cid };
}

function noSuchComment({ params }: Request): never {
  missing(`No comment '${params.cid}' on a mockup '${params.id}'`);
}
