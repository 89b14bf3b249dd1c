import type { TenantAuditEvent } from 'backstage-plugin-tenants-common';
import type { Response } from 'express';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { sendLines } from './sendLines';

describe('sendLines', () => {
  it('sends all pages to a slow reader, and leaves no listeners', async () => {
    const stream = new PassThrough({ highWaterMark: 1 });
    const res = Object.assign(stream, {
      type: () => res,
    }) as unknown as Response;
    const listeners: number[] = [];
    const received = text(stream);
    await sendLines(res, async ({ cursor = '0' }) => {
      listeners.push(stream.listenerCount('close'));
      return {
        items: [{ id: cursor } as TenantAuditEvent],
        next_cursor: cursor === '20' ? null : String(Number(cursor) + 1),
      };
    });
    expect((await received).trim().split('\n')).toHaveLength(21);
    expect(new Set(listeners).size).toBe(1);
  });

  it('reads no more than a page for HEAD, whose answer has no body', async () => {
    const stream = new PassThrough().resume();
    const res = Object.assign(stream, {
      type: () => res,
      req: { method: 'HEAD' },
    }) as unknown as Response;
    let pages = 0;
    await sendLines(res, async () => {
      pages += 1;
      return { items: [], next_cursor: pages === 3 ? null : 'next' };
    });
    expect(pages).toBe(1);
  });
});
