import type { Response } from 'express';

/**
 * Sends a JSON array, one part after the other, no faster than the client takes
 * them. Once the client is gone, no further part is asked for.
 *
 * What is thrown by the first part gets a status of its own. What is thrown by a
 * later one breaks the connection, and no client takes what it has for all.
 *
 * @param mayGoOn - rejects if no further part is to be sent, and is asked before each
 */
export async function sendEntities(
  res: Response,
  parts: AsyncIterable<object[]>,
  mayGoOn: () => Promise<void> = async () => {},
): Promise<void> {
  let isFirst = true;
  for await (const part of parts) {
    if (isFirst) {
      res.setHeader('Content-Type', 'application/json; charset=utf-8');
      if (res.req.method === 'HEAD') {
        res.end();
        return;
      }
    } else {
      await mayGoOn();
    }
    const items = JSON.stringify(part).slice(1, -1);
    if (!(await write(res, `${isFirst ? '[' : ','}${items}`))) {
      return;
    }
    isFirst = false;
  }
  if (isFirst) {
    res.json([]);
  } else {
    res.end(']');
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
