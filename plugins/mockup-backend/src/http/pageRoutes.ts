import { NotFoundError } from '@backstage/errors';
import {
  pagePathSchema,
  parseInput,
  publishPageRequestSchema,
} from 'backstage-plugin-mockup-common';
import type { Request, Router } from 'express';
import type { Operations } from './operations';
import { parseBody } from './request/body';

/** Adds the operations on pages, which are published versions of mockups. */
export function addPageRoutes(router: Router, operations: Operations): void {
  router.get(
    '/pages',
    operations.read('list-pages', async ({ res, pages }) => {
      res.json(await pages.list());
    }),
  );

  router.get(
    '/pages/:path',
    operations.read('get-page', async ({ req, res, pages }) => {
      const page = await pages.get(req.params.path);
      if (!page) {
        throw noSuchPage(req);
      }
      res.json(page);
    }),
  );

  router.get(
    '/home',
    operations.read('get-home-page', async ({ res, pages }) => {
      const page = await pages.getHome();
      if (page) {
        res.json(page);
      } else {
        res.status(204).end();
      }
    }),
  );

  router.get(
    '/mockups/:id/pages',
    operations.read('list-pages-of-mockup', async ({ req, res, pages }) => {
      res.json(await pages.listOf(req.params.id));
    }),
  );

  router.put(
    '/pages/:path',
    operations.write('publish-page', async ({ req, res, pages, user }) => {
      const path = parseInput(pagePathSchema, req.params.path, 'path', [
        'path',
      ]);
      const request = await parseBody(req, res, publishPageRequestSchema);
      const { mockupId, versionId, audience } = request;
      const { home = false, template = false } = request;
      const page = await pages.publish(path, request, user);
      if (!page) {
        throw new NotFoundError(
          `No version '${versionId}' of a mockup '${mockupId}'`,
        );
      }
      res.json(page);
      return { id: mockupId, vid: versionId, audience, home, template };
    }),
  );

  router.delete(
    '/pages/:path',
    operations.write('take-page-back', async ({ req, res, pages }) => {
      if (!(await pages.takeBack(req.params.path))) {
        throw noSuchPage(req);
      }
      res.status(204).end();
    }),
  );
}

function noSuchPage(req: Request): NotFoundError {
  return new NotFoundError(`No page at '${req.params.path}'`);
}
