import type { Router } from 'express';
import { encodeCursor } from '../pages/EntityCursor';
import { readEntityPage } from '../pages/readEntityPage';
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
  { res, tenantId, catalog }: OperationContext,
  { page, projection }: PageParameters,
) {
  const { items, totalItems, nextCursor, prevCursor } = await readEntityPage(
    catalog,
    tenantId,
    page,
  );
  const around = {
    totalItems,
    pageInfo: {
      ...(nextCursor && { nextCursor: encodeCursor(nextCursor) }),
      ...(prevCursor && { prevCursor: encodeCursor(prevCursor) }),
    },
  };
  const parts = await projectParts(tenantId, [items], projection);
  await sendEntities(res, parts, {
    before: '{"items":',
    after: `,${JSON.stringify(around).slice(1)}`,
    tagged: projection !== undefined,
  });
  return around;
}
