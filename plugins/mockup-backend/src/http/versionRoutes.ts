import { NotFoundError } from '@backstage/errors';
import {
  restoreVersionRequestSchema,
  saveVersionRequestSchema,
  updateVersionRequestSchema,
} from 'backstage-plugin-mockup-common';
import type { Router } from 'express';
import { noSuchMockup } from './mockupRoutes';
import type { Operations } from './operations';
import { parseBody } from './request/body';
import { parseIfMatch } from './request/ifMatch';
import { parseCompareVersionsQuery, parsePagination } from './request/query';
import { setETag, setLocation } from './response/headers';
import { sendPage } from './response/page';

/** Adds the operations on versions (specification, "Version operations"). */
export function addVersionRoutes(router: Router, operations: Operations): void {
  router.post(
    '/mockups/:id/versions',
    operations.write('save-version', async ({ req, res, mockups, user }) => {
      const { id } = req.params;
      const condition = parseIfMatch(req);
      const request = await parseBody(req, res, saveVersionRequestSchema);
      const saved = await mockups.saveVersion(id, request, {
        ...condition,
        createdBy: user,
      });
      if (!saved) {
        throw noSuchMockup(id);
      }
      setETag(res, saved.revision);
      setLocation(req, res, saved.version.id);
      res.status(201).json(saved.version);
      return { vid: saved.version.id };
    }),
  );

  router.get(
    '/mockups/:id/versions',
    operations.read('list-versions', async ({ req, res, mockups }) => {
      const page = parsePagination(req);
      const versions = await mockups.listVersions(req.params.id, page);
      if (!versions) {
        throw noSuchMockup(req.params.id);
      }
      sendPage(req, res, versions, page);
    }),
  );

  router.get(
    '/mockups/:id/versions/:vid',
    operations.read('get-version', async ({ req, res, mockups }) => {
      const { id, vid } = req.params;
      const version = await mockups.getVersion(id, vid);
      if (!version) {
        throw noSuchVersion(id, vid);
      }
      res.json(version);
    }),
  );

  router.get(
    '/mockups/:id/versions/:vid/diff',
    operations.read('compare-versions', async ({ req, res, mockups }) => {
      const { id, vid } = req.params;
      const { to } = parseCompareVersionsQuery(req);
      const difference = await mockups.compareVersions(id, vid, to);
      if (!difference) {
        throw new NotFoundError(
          `No versions '${vid}' and '${to}' of a mockup '${id}'`,
        );
      }
      res.json(difference);
    }),
  );

  router.patch(
    '/mockups/:id/versions/:vid',
    operations.write('update-version', async ({ req, res, mockups }) => {
      const { id, vid } = req.params;
      const condition = parseIfMatch(req);
      const request = await parseBody(req, res, updateVersionRequestSchema);
      const updated = await mockups.updateVersion(id, vid, request, condition);
      if (!updated) {
        throw noSuchVersion(id, vid);
      }
      setETag(res, updated.revision);
      res.json(updated.version);
    }),
  );

  router.post(
    '/mockups/:id/versions/:vid/restore',
    operations.write('restore-version', async ({ req, res, mockups, user }) => {
      const { id, vid } = req.params;
      const condition = parseIfMatch(req);
      const request = await parseBody(
        req,
        res,
        restoreVersionRequestSchema,
        {},
      );
      const restored = await mockups.restoreVersion(id, vid, request, {
        ...condition,
        createdBy: user,
      });
      if (!restored) {
        throw noSuchVersion(id, vid);
      }
      setETag(res, restored.revision);
      setLocation(req, res, restored.version.id, 2);
      res.status(201).json(restored.version);
      return { restored: restored.version.id };
    }),
  );
}

export function noSuchVersion(id: string, vid: string): NotFoundError {
  return new NotFoundError(`No version '${vid}' of a mockup '${id}'`);
}
