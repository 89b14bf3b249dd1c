import { parseIdempotencyKey, setLocation } from '@internal/http';
import {
  createMockupRequestSchema,
  duplicateMockupRequestSchema,
  listMockupsQuerySchema,
  shareMockupRequestSchema,
  updateMockupRequestSchema,
} from 'backstage-plugin-mockup-common';
import type { Router } from 'express';
import type { Operations } from './operations';
import { parseBody, parseQuery } from './request/parse';
import { foundMockup, sendMockup, setETag } from './response/found';
import { sendPage } from './response/page';

/** Adds the operations on mockups (specification, "Mockup operations"). */
export function addMockupRoutes(router: Router, operations: Operations): void {
  router.get(
    '/mockups',
    operations.read('list-mockups', async ({ req, res, mockups }) => {
      const query = parseQuery(req, listMockupsQuerySchema);
      sendPage(req, res, await mockups.list(query), query);
    }),
  );

  router.post(
    '/mockups',
    operations.write('create-mockup', async ({ req, res, mockups, user }) => {
      const options = { ...parseIdempotencyKey(req), owner: user };
      const request = await parseBody(req, res, createMockupRequestSchema);
      const { mockup, revision } = await mockups.create(request, options);
      setETag(res, revision);
      setLocation(req, res, mockup.id);
      res.status(201).json(mockup);
      return { id: mockup.id };
    }),
  );

  router.get(
    '/mockups/:id',
    operations.read('get-mockup', async ({ req, res, mockups }) => {
      sendMockup(req, res, await mockups.get(req.params.id));
    }),
  );

  router.patch(
    '/mockups/:id',
    operations.writeIfMatch(
      'update-mockup',
      async ({ req, res, mockups, condition }) => {
        const request = await parseBody(req, res, updateMockupRequestSchema);
        const updated = mockups.update(req.params.id, request, condition);
        sendMockup(req, res, await updated);
      },
    ),
  );

  router.put(
    '/mockups/:id/shares',
    operations.writeIfMatch(
      'share-mockup',
      async ({ req, res, mockups, condition }) => {
        const request = await parseBody(req, res, shareMockupRequestSchema);
        const shared = mockups.share(req.params.id, request, condition);
        sendMockup(req, res, await shared);
        return {
          shares: request.shares.map(({ group, access }) => ({
            group,
            access,
          })),
        };
      },
    ),
  );

  router.delete(
    '/mockups/:id',
    operations.writeIfMatch(
      'delete-mockup',
      async ({ req, res, mockups, condition, user }) => {
        const options = { ...condition, deletedBy: user };
        foundMockup(await mockups.delete(req.params.id, options), req);
        res.status(204).end();
      },
    ),
  );

  router.post(
    '/mockups/:id/duplicate',
    operations.write(
      'duplicate-mockup',
      async ({ req, res, mockups, user }) => {
        const options = { ...parseIdempotencyKey(req), owner: user };
        const request = await parseBody(
          req,
          res,
          duplicateMockupRequestSchema,
          {},
        );
        const copy = foundMockup(
          await mockups.duplicate(req.params.id, request, options),
          req,
        );
        setETag(res, copy.revision);
        setLocation(req, res, copy.mockup.id, 2);
        res.status(201).json(copy.mockup);
        return { copy: copy.mockup.id };
      },
    ),
  );
}
