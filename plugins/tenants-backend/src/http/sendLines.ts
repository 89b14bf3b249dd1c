import type { TenantAuditTrail } from 'backstage-plugin-catalog-tenancy-node';
import type { ListTenantAudit } from 'backstage-plugin-tenants-common';
import type { Response } from 'express';
import { once } from 'node:events';

/**
 * Sends all events of an audit trail as JSON lines, page by page, with backpressure. For HEAD,
 * reads one page, for the errors.
 */
export async function sendLines(
  res: Response,
  readPage: (next: ListTenantAudit) => ReturnType<TenantAuditTrail['list']>,
): Promise<void> {
  let page = await readPage({ limit: 500 });
  // An error before this is answered like any other.
  res.type('application/jsonl');
  for (;;) {
    const lines = page.items.map(event => `${JSON.stringify(event)}\n`);
    if (!res.write(lines.join('')) && !res.closed) {
      await drained(res);
    }
    if (!page.next_cursor || res.closed || res.req?.method === 'HEAD') {
      break;
    }
    page = await readPage({ limit: 500, cursor: page.next_cursor });
  }
  res.end();
}

/** Resolves when the buffer is empty or the client has disconnected. Leaves no listeners. */
async function drained(res: Response): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([
    once(res, 'drain', { signal }),
    once(res, 'close', { signal }),
  ]).finally(() => settled.abort());
}
