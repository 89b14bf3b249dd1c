import { setLocation } from '@internal/http';
import {
  compareVersionsQuerySchema,
  paginationSchema,
  saveVersionRequestSchema,
  updateVersionRequestSchema,
} from 'backstage-plugin-mockup-common';
import type { Router } from 'express';
import type { Operations } from './operations';
import { parseBody, parseQuery } from './request/parse';
import { foundMockup, foundVersion, missing, setETag } from './response/found';
import { sendPage } from './response/page';

/** Adds the operations on versions (specification, "Version operations"). */
export function addVersionRoutes(router: Router, operations: Operations): void {
  router.post(
    '/mockups/:id/versions',
    operations.writeIfMatch(
      'save-version',
      async ({ req, res, mockups, condition, user }) => {
        const request = await parseBody(req, res, saveVersionRequestSchema);
        const saved = foundMockup(
          await mockups.saveVersion(req.params.id, request, {
            ...condition,
            createdBy: user,
          }),
          req,
        );
        setETag(res, saved.revision);
        setLocation(req, res, saved.version.id);
        res.status(201).json(saved.version);
        return { vid: saved.version.id };
      },
    ),
  );

  router.get(
    '/mockups/:id/versions',
    operations.read('list-versions', async ({ req, res, mockups }) => {
      const page = parseQuery(req, paginationSchema);
      const versions = foundMockup(
        await mockups.listVersions(req.params.id, page),
        req,
      );
      sendPage(req, res, versions, page);
    }),
  );

  router.get(
    '/mockups/:id/versions/:vid',
    operations.read('get-version', async ({ req, res, mockups }) => {
      const { id, vid } = req.params;
      res.json(foundVersion(await mockups.getVersion(id, vid), req));
    }),
  );

  router.get(
    '/mockups/:id/versions/:vid/diff',
    operations.read('compare-versions', async ({ req, res, mockups }) => {
      const { id, vid } = req.params;
      const { to } = parseQuery(req, compareVersionsQuerySchema);
      res.json(
        (await mockups.compareVersions(id, vid, to)) ||
          missing(`No versions '${vid}' and '${to}' of a mockup '${id}'`),
      );
    }),
  );

  router.patch(
    '/mockups/:id/versions/:vid',
    operations.writeIfMatch(
      'update-version',
      async ({ req, res, mockups, condition }) => {
        const { id, vid } = req.params;
        const request = await parseBody(req, res, updateVersionRequestSchema);
        const updated = foundVersion(
          await mockups.updateVersion(id, vid, request, condition),
          req,
        );
        setETag(res, updated.revision);
        res.json(updated.version);
      },
    ),
  );

  router.post(
    '/mockups/:id/versions/:vid/restore',
    operations.writeIfMatch(
      'restore-version',
      async ({ req, res, mockups, condition, user }) => {
        const { id, vid } = req.params;
        const restored = foundVersion(
          await mockups.restoreVersion(id, vid, {
            ...condition,
            createdBy: user,
          }),
          req,
        );
        setETag(res, restored.revision);
        setLocation(req, res, restored.version.id, 2);
        res.status(201).json(restored.version);
        return { restored: restored.version.id };
      },
    ),
  );
}
