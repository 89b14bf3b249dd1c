import type { Router } from 'express';
import { encodeCursor } from './EntityCursor';
import { readEntityPage } from './readEntityPage';
import type { OperationContext, Operations } from './operations';
import {
  type PageParameters,
  parsePageBody,
  parsePageParameters,
} from './request/parsePage';
import { parseQuery } from './request/parseQuery';
import { projectParts, sendEntities } from './response';

/** The routes for lists of entities that are read page by page. */
export function mountEntityPages(router: Router, operations: Operations): void {
  const describe = () => ({ queryType: 'by-query' });

  router.get(
    '/entities/by-query',
    operations.read(describe, async context =>
      answer(context, parsePageParameters(context.req.query)),
    ),
  );

  router.post(
    '/entities/by-query',
    operations.read(describe, async context => {
      const { req, res } = context;
      parseQuery(req.query, {});
      return answer(context, await parsePageBody(req, res));
    }),
  );
}

async function answer(
  { res, tenantId, catalog, assertStillAdmitted }: OperationContext,
  { page, projection }: PageParameters,
) {
  const { parts, describe } = await readEntityPage(catalog, tenantId, page);
  const around = () => {
    const { totalItems, nextCursor, prevCursor } = describe();
    return {
      totalItems,
      pageInfo: {
        ...(nextCursor && { nextCursor: encodeCursor(nextCursor) }),
        ...(prevCursor && { prevCursor: encodeCursor(prevCursor) }),
      },
    };
  };
  await sendEntities(res, await projectParts(tenantId, parts, projection), {
    before: '{"items":',
    after: () => `,${JSON.stringify(around()).slice(1)}`,
    tagged: projection !== undefined,
    mayGoOn: assertStillAdmitted,
  });
  return around();
}
