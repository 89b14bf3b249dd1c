import { NotFoundError } from '@backstage/errors';
import {
  createMockupRequestSchema,
  duplicateMockupRequestSchema,
  shareMockupRequestSchema,
  updateMockupRequestSchema,
} from 'backstage-plugin-mockup-common';
import type { Router } from 'express';
import type { Operations } from './operations';
import { parseBody } from './request/body';
import { parseIfMatch } from './request/ifMatch';
import { parseListMockupsQuery } from './request/query';
import { setETag, setLocation } from './response/headers';
import { sendPage } from './response/page';

/** Adds the operations on mockups (specification, "Mockup operations"). */
export function addMockupRoutes(router: Router, operations: Operations): void {
  router.get(
    '/mockups',
    operations.read('list-mockups', async ({ req, res, mockups }) => {
      const query = parseListMockupsQuery(req);
      sendPage(req, res, await mockups.list(query), query);
    }),
  );

  router.post(
    '/mockups',
    operations.write('create-mockup', async ({ req, res, mockups, user }) => {
      const request = await parseBody(req, res, createMockupRequestSchema);
      const { mockup, revision } = await mockups.create(request, {
        owner: user,
      });
      setETag(res, revision);
      setLocation(req, res, mockup.id);
      res.status(201).json(mockup);
      return { id: mockup.id };
    }),
  );

  router.get(
    '/mockups/:id',
    operations.read('get-mockup', async ({ req, res, mockups }) => {
      const found = await mockups.get(req.params.id);
      if (!found) {
        throw noSuchMockup(req.params.id);
      }
      setETag(res, found.revision);
      res.json(found.mockup);
    }),
  );

  router.patch(
    '/mockups/:id',
    operations.write('update-mockup', async ({ req, res, mockups }) => {
      const condition = parseIfMatch(req);
      const request = await parseBody(req, res, updateMockupRequestSchema);
      const updated = await mockups.update(req.params.id, request, condition);
      if (!updated) {
        throw noSuchMockup(req.params.id);
      }
      setETag(res, updated.revision);
      res.json(updated.mockup);
    }),
  );

  router.put(
    '/mockups/:id/shares',
    operations.write('share-mockup', async ({ req, res, mockups }) => {
      const condition = parseIfMatch(req);
      const request = await parseBody(req, res, shareMockupRequestSchema);
      const shared = await mockups.share(req.params.id, request, condition);
      if (!shared) {
        throw noSuchMockup(req.params.id);
      }
      setETag(res, shared.revision);
      res.json(shared.mockup);
      return {
        shares: request.shares.map(({ group, access }) => ({ group, access })),
      };
    }),
  );

  router.delete(
    '/mockups/:id',
    operations.write('delete-mockup', async ({ req, res, mockups, user }) => {
      const options = { ...parseIfMatch(req), deletedBy: user };
      if (!(await mockups.delete(req.params.id, options))) {
        throw noSuchMockup(req.params.id);
      }
      res.status(204).end();
    }),
  );

  router.post(
    '/mockups/:id/duplicate',
    operations.write(
      'duplicate-mockup',
      async ({ req, res, mockups, user }) => {
        const { id } = req.params;
        const request = await parseBody(
          req,
          res,
          duplicateMockupRequestSchema,
          {},
        );
        const copy = await mockups.duplicate(id, request, { owner: user });
        if (!copy) {
          throw noSuchMockup(id);
        }
        setETag(res, copy.revision);
        setLocation(req, res, copy.mockup.id, 2);
        res.status(201).json(copy.mockup);
        return { copy: copy.mockup.id };
      },
    ),
  );
}

export function noSuchMockup(id: string): NotFoundError {
  return new NotFoundError(`No mockup with id '${id}'`);
}
