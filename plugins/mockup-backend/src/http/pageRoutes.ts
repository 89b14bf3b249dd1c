import { parseDemands } from '@internal/http';
import { parseInput } from '@internal/http-client';
import {
  pagePathSchema,
  publishPageRequestSchema,
} from 'backstage-plugin-mockup-common';
import type { Request, Router } from 'express';
import type { Operations } from './operations';
import { parseBody } from './request/parse';
import { foundMockup, missing } from './response/found';

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
      res.json((await pages.get(req.params.path)) || noSuchPage(req));
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
    operations.read('list-pages-of-mockup', async context => {
      const { req, res, mockups, pages } = context;
      const { id } = req.params;
      const { items } = await mockups.list({ filter: { id: [id] } });
      foundMockup(items[0], req);
      res.json(await pages.listOf(id));
    }),
  );

  router.put(
    '/pages/:path',
    operations.write('publish-page', async ({ req, res, pages, user }) => {
      const path = parseInput(pagePathSchema, req.params.path, 'path', [
        'path',
      ]);
      const request = await parseBody(req, res, publishPageRequestSchema);
      const { mockupId, versionId } = request;
      const page =
        (await pages.publish(path, request, user, parseDemands(req))) ||
        missing(`No version '${versionId}' of a mockup '${mockupId}'`);
      res.json(page);
      const { template = false, publication: { audience, home } = {} } = page;
      return { id: mockupId, vid: versionId, audience, home, template };
    }),
  );

  router.delete(
    '/pages/:path',
    operations.write('take-page-back', async ({ req, res, pages }) => {
      if (!(await pages.takeBack(req.params.path))) {
        noSuchPage(req);
      }
      res.status(204).end();
    }),
  );
}

function noSuchPage(req: Request): never {
  missing(`No page at '${req.params.path}'`);
}
