import { listTrashQuerySchema } from 'backstage-plugin-mockup-common';
import type { Request, Router } from 'express';
import type { Operations } from './operations';
import { parseQuery } from './request/parse';
import { missing, setETag } from './response/found';
import { sendPage } from './response/page';

/** Adds the operations on deleted mockups. */
export function addTrashRoutes(router: Router, operations: Operations): void {
  router.get(
    '/trash',
    operations.read('list-trash', async ({ req, res, mockups }) => {
      const query = parseQuery(req, listTrashQuerySchema);
      sendPage(req, res, await mockups.listTrash(query), query);
    }),
  );

  router.post(
    '/trash/:id/restore',
    operations.write('restore-mockup', async ({ req, res, mockups }) => {
      const restored =
        (await mockups.restore(req.params.id)) || notInTrash(req);
      setETag(res, restored.revision);
      res.json(restored.mockup);
    }),
  );

  router.delete(
    '/trash/:id',
    operations.write('purge-mockup', async ({ req, res, mockups }) => {
      if (!(await mockups.purge(req.params.id))) {
        notInTrash(req);
      }
      res.status(204).end();
    }),
  );
}

function notInTrash({ params }: Request): never {
  missing(`No mockup with id '${params.id}' in the trash`);
}
