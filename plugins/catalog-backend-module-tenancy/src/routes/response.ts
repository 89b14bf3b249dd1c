import type { Request, Response } from 'express';
import { createHash } from 'node:crypto';
import { type Projection, projectJson } from './request/parseFields';
import { workSlices } from './workSlices';

// How much is handed over at once, and so how much more than the client takes may
// be in memory for it.
const WRITTEN_AT_ONCE = 100;

interface SendEntitiesOptions {
  /** What stands around the array, if anything. */
  before?: string;
  after?: string;
  /** Whether the answer has an entity tag, unless it is sent in several parts. */
  tagged?: boolean;
  /** Rejects if no further part is to be sent, and is asked before each. */
  mayGoOn?: () => Promise<void>;
}

/** Parts of a list, which may all be there already. */
export type Parts = AsyncIterable<string[]> | [string[]];

/**
 * Sends JSON texts as a JSON array, one part after the other, no faster than the
 * client takes them. Once the client is gone, no further part is asked for.
 *
 * An error of the first part gets its own status. What is thrown by a
 * later one breaks the connection, and no client takes what it has for all.
 */
export async function sendEntities(
  res: Response,
  parts: Parts,
  options: SendEntitiesOptions = {},
): Promise<void> {
  const { before = '', after = '', tagged = false, mayGoOn } = options;
  if (Array.isArray(parts)) {
    const [items] = parts;
    if (tagged && sendTag(res, [before, ...items, after])) {
      return;
    }
    if (items.length <= WRITTEN_AT_ONCE) {
      sendJson(res, `${before}[${items.join(',')}]${after}`);
      return;
    }
  }
  let separator = `${before}[`;
  let isFirst = true;
  for await (const part of parts) {
    if (isFirst) {
      setType(res);
      if (res.req.method === 'HEAD') {
        res.end();
        return;
      }
      isFirst = false;
    } else {
      await mayGoOn?.();
    }
    for (let start = 0; start < part.length; start += WRITTEN_AT_ONCE) {
      const items = part.slice(start, start + WRITTEN_AT_ONCE).join(',');
      if (!(await write(res, separator + items))) {
        return;
      }
      separator = ',';
    }
  }
  if (isFirst && tagged && sendTag(res, [before, after])) {
    return;
  }
  setType(res);
  res.end(`${separator === ',' ? '' : separator}]${after}`);
}

function setType(res: Response): void {
  if (!res.headersSent) {
    res.setHeader('Content-Type', 'application/json; charset=utf-8');
  }
}

/**
 * Writes, and waits until there is room for more.
 *
 * @returns false once the client is gone
 */
async function write(res: Response, data: string): Promise<boolean> {
  if (!res.closed && !res.write(data)) {
    await new Promise<void>(resolve => {
      const done = () => {
        res.off('drain', done);
        res.off('close', done);
        resolve();
      };
      res.on('drain', done);
      res.on('close', done);
    });
  }
  return !res.closed;
}

/** Sends one JSON text as the whole answer. */
export function sendJson(res: Response, json: string): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.end(json);
}

/**
 * Gives an answer an entity tag (RFC 9110), and sends it without its body, with status
 * 304, to a client that has it already.
 *
 * @param texts - what the answer consists of
 * @returns whether the answer is sent
 */
function sendTag(res: Response, texts: string[]): boolean {
  const hash = createHash('sha1');
  for (const text of texts) {
    // No JSON text has a line break outside of an escape.
    hash.update(text).update('\n');
  }
  res.setHeader('ETag', `W/"${hash.digest('base64url')}"`);
  if (!res.req.fresh) {
    return false;
  }
  res.status(304).end();
  return true;
}

/** What a projection leaves of each entity, as JSON text. */
export async function projectParts(
  tenantId: string,
  parts: Parts,
  projection: Projection | undefined,
): Promise<Parts> {
  if (!projection) {
    return parts;
  }
  const project = (part: string[]) =>
    workSlices.map(tenantId, part, json => projectJson(json, projection));
  return Array.isArray(parts) ? [await project(parts[0])] : map(parts, project);
}

async function* map<TItem>(
  items: AsyncIterable<TItem>,
  change: (item: TItem) => Promise<TItem>,
): AsyncGenerator<TItem> {
  for await (const item of items) {
    yield await change(item);
  }
}

/**
 * Points at the next page (RFC 8288), by the same request with `after` in place of
 * `offset`.
 */
export function setNextLink(req: Request, res: Response, after: string): void {
  const url = new URL(`http://ignored${req.url}`);
  url.searchParams.delete('offset');
  url.searchParams.set('after', after);
  res.setHeader('Link', `<${url.pathname}${url.search}>; rel="next"`);
}
