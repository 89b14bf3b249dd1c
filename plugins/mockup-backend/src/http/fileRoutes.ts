import { parseIdempotencyKey } from '@internal/http';
import type { Router } from 'express';
import type { Operations } from './operations';
import {
  createMockupFileReader,
  type ImportBounds,
} from './request/mockupFile';
import { foundMockup } from './response/found';
import { allMockups, sendMockupFile } from './response/mockupFile';

/**
 * Adds the export and the import of mockups.
 *
 * @param options.importBounds - the limits of imported files
 */
export function addFileRoutes(
  router: Router,
  operations: Operations,
  options: { importBounds: ImportBounds },
): void {
  const readFile = createMockupFileReader(options.importBounds);

  router.get(
    '/export',
    operations.read('export-mockups', async context => {
      await sendMockupFile(
        context,
        allMockups(context.mockups),
        'mockups.json',
      );
    }),
  );

  router.get(
    '/mockups/:id/export',
    operations.read('export-mockup', async context => {
      const { req, mockups } = context;
      const { items } = await mockups.list({
        filter: { id: [req.params.id] },
      });
      const [mockup] = items;
      foundMockup(mockup, req);
      await sendMockupFile(
        context,
        (async function* one() {
          yield* items;
        })(),
        `mockup-${mockup.id}.json`,
      );
    }),
  );

  router.post(
    '/import',
    operations.write('import-mockups', async ({ req, res, mockups, user }) => {
      const by = { ...parseIdempotencyKey(req), owner: user };
      const imported = await mockups.importMockups(readFile(req, res), by);
      res.status(201).json({ mockups: imported });
      return { mockups: imported.length };
    }),
  );
}
