import type { Request, Response } from 'express';
import { createHash } from 'node:crypto';
import { type Projection, projectJson } from './request/parseFields';
import { workSlices } from './workSlices';

// The number of entities written at once, which bounds the data in memory for a slow client.
const WRITTEN_AT_ONCE = 100;

interface SendEntitiesOptions {
  /** Text before the array. */
  before?: string;
  /** Text after the array, once all parts are read. */
  after?: () => string;
  /** Whether the response has an ETag, unless it is sent in several parts. */
  tagged?: boolean;
  /** Called before each further part; a rejection stops the response. */
  mayGoOn?: () => Promise<void>;
}

/** Parts of a list, or the whole list as one part. */
export type Parts = AsyncIterable<string[]> | [string[]];

/**
 * Sends JSON texts as a JSON array, part by part, with backpressure. Reads no further part once
 * the client has disconnected.
 *
 * An error of the first part gets its own status. An error of a later part closes the
 * connection, so that the client notices that the response is incomplete.
 */
export async function sendEntities(
  res: Response,
  parts: Parts,
  options: SendEntitiesOptions = {},
): Promise<void> {
  const { before = '', after = () => '', tagged = false, mayGoOn } = options;
  if (Array.isArray(parts)) {
    const [items] = parts;
    if (tagged && sendTag(res, [before, ...items, after()])) {
      return;
    }
    if (items.length <= WRITTEN_AT_ONCE) {
      sendJson(res, `${before}[${items.join(',')}]${after()}`);
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
  if (isFirst && tagged && sendTag(res, [before, after()])) {
    return;
  }
  setType(res);
  res.end(`${separator === ',' ? '' : separator}]${after()}`);
}

/** Sends the texts of one JSON value, with backpressure; errors end it as in {@link sendEntities}. */
export async function sendTexts(
  res: Response,
  texts: AsyncIterable<string>,
): Promise<void> {
  setType(res);
  for await (const text of texts) {
    if (!(await write(res, text))) {
      return;
    }
  }
  res.end();
}

function setType(res: Response): void {
  if (!res.headersSent) {
    res.setHeader('Content-Type', 'application/json; charset=utf-8');
  }
}

/**
 * Writes, and waits for `drain` if the buffer is full.
 *
 * @returns false if the client has disconnected
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

/** Sends a JSON text as the whole response. */
export function sendJson(res: Response, json: string): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.end(json);
}

/**
 * Sets the ETag of a response (RFC 9110). Sends status 304 if the client has this version.
 *
 * @param texts - the parts of the body
 * @returns true if the response was sent
 */
function sendTag(res: Response, texts: string[]): boolean {
  const hash = createHash('sha1');
  for (const text of texts) {
    // JSON texts have no unescaped line breaks, so it is an unambiguous separator.
    hash.update(text).update('\n');
  }
  res.setHeader('ETag', `W/"${hash.digest('base64url')}"`);
  if (!res.req.fresh) {
    return false;
  }
  res.status(304).end();
  return true;
}

/** Applies a projection to the JSON text of each entity. */
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
 * Sets the `Link` to the next page (RFC 8288): the same request with `after` instead of
 * `offset`.
 */
export function setNextLink(req: Request, res: Response, after: string): void {
  const url = new URL(`http://ignored${req.url}`);
  url.searchParams.delete('offset');
  url.searchParams.set('after', after);
  res.setHeader('Link', `<${url.pathname}${url.search}>; rel="next"`);
}
