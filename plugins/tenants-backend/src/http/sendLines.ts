import type { TenantAuditTrail } from 'backstage-plugin-catalog-tenancy-node';
import type { ListTenantAudit } from 'backstage-plugin-tenants-common';
import type { Response } from 'express';
import { pipeline } from 'node:stream/promises';

/**
 * Sends all events of an audit trail as JSON lines, page by page, with backpressure. For HEAD,
 * reads one page, for the errors.
 *
 * @throws if the client disconnects
 */
export async function sendLines(
  res: Response,
  readPage: (next: ListTenantAudit) => ReturnType<TenantAuditTrail['list']>,
): Promise<void> {
  let page = await readPage({ limit: 500 });
  // An error before this is answered like any other.
  res.type('application/jsonl');
  await pipeline(async function* lines() {
    for (;;) {
      yield page.items.map(event => `${JSON.stringify(event)}\n`).join('');
      if (!page.next_cursor || res.req?.method === 'HEAD') {
        return;
      }
      page = await readPage({ limit: 500, cursor: page.next_cursor });
    }
  }, res);
}
