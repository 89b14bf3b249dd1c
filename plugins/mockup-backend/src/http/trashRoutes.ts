import { NotFoundError } from '@backstage/errors';
import type { Router } from 'express';
import type { Operations } from './operations';
import { parseListTrashQuery } from './request/query';
import { setETag } from './response/headers';
import { sendPage } from './response/page';

/** Adds the operations on deleted mockups. */
export function addTrashRoutes(router: Router, operations: Operations): void {
  router.get(
    '/trash',
    operations.read('list-trash', async ({ req, res, mockups }) => {
      const query = parseListTrashQuery(req);
      sendPage(req, res, await mockups.listTrash(query), query);
    }),
  );

  router.post(
    '/trash/:id/restore',
    operations.write('restore-mockup', async ({ req, res, mockups }) => {
      const restored = await mockups.restore(req.params.id);
      if (!restored) {
        throw notInTrash(req.params.id);
      }
      setETag(res, restored.revision);
      res.json(restored.mockup);
    }),
  );

  router.delete(
    '/trash/:id',
    operations.write('purge-mockup', async ({ req, res, mockups }) => {
      if (!(await mockups.purge(req.params.id))) {
        throw notInTrash(req.params.id);
      }
      res.status(204).end();
    }),
  );
}

function notInTrash(id: string): NotFoundError {
  return new NotFoundError(`No mockup with id '${id}' in the trash`);
}
