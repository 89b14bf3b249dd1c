import { withDeadline } from '@internal/postgres/testUtils';
import express, { type Response } from 'express';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { get, type IncomingMessage, type Server } from 'node:http';
import request from 'supertest';
import { sendEntities } from './response';

describe('sendEntities', () => {
  let server: Server | undefined;

  const app = (send: (res: Response) => Promise<void>) =>
    express().get('/', (_req, res, next) => {
      send(res).catch(next);
    });

  afterEach(async () => {
    server?.closeAllConnections();
    server?.close();
    server = undefined;
  });

  describe('with an entity tag', () => {
    const tagged = (items: string[]) =>
      app(res => sendEntities(res, [items], { tagged: true }));
    const tagOf = async (items: string[]) =>
      (await request(tagged(items)).get('/')).get('ETag');

    it('sends the same list with the same tag, and another list with another', async () => {
      const items = Array.from({ length: 150 }, (_, n) => `{"n":${n}}`);
      const tag = await tagOf(items);
      expect(tag).toMatch(/^W\/"[\w-]{20,}"$/);
      expect(await tagOf([...items])).toBe(tag);
      expect(await tagOf(items.slice(1))).not.toBe(tag);
      expect(await tagOf(['[1', '2]'])).not.toBe(await tagOf(['[1,2]']));
    });

    it.each(['get', 'head'] as const)(
      'answers %s with 304 where the client has that list already',
      async method => {
        const list = tagged(['{"n":1}']);
        const answer = await request(list)
          [method]('/')
          .set('If-None-Match', (await tagOf(['{"n":1}']))!);
        expect([answer.status, answer.text ?? '']).toEqual([304, '']);
        expect(answer.get('Content-Type')).toBeUndefined();
        const other = await request(list)
          [method]('/')
          .set('If-None-Match', (await tagOf(['{"n":2}']))!);
        expect(other.status).toBe(200);
      },
    );
  });

  it('breaks the connection when a later part fails', async () => {
    await expect(
      request(
        app(res =>
          sendEntities(
            res,
            (async function* fail() {
              yield ['{"a":1}'];
              throw Object.assign(new Error('down'), { status: 503 });
            })(),
          ),
        ),
      ).get('/'),
    ).rejects.toThrow('aborted');
  });

  it('waits for a slow client, and stops when it is gone', async () => {
    const part = [JSON.stringify('x'.repeat(1_000_000))];
    let sent = 0;
    let waiting: () => void;
    const waits = new Promise<void>(resolve => (waiting = resolve));
    const finished = new Promise<void>((resolve, reject) => {
      server = app(res => {
        const parts = async function* endless() {
          for (;;) {
            sent += 1;
            yield part;
            // Nothing is taken, so that one of the writes has to wait.
            if (res.writableNeedDrain) {
              throw new Error('Another part was asked for without room for it');
            }
          }
        };
        const write = res.write.bind(res);
        res.write = ((data: string) => {
          const hasRoom = write(data);
          if (!hasRoom) {
            waiting();
          }
          return hasRoom;
        }) as typeof res.write;
        const sending = sendEntities(res, parts());
        sending.then(resolve, reject);
        return sending;
      }).listen(0);
    });
    await once(server!, 'listening');
    const { port } = server!.address() as AddressInfo;
    const client = get({ port });
    const [answer] = (await once(client, 'response')) as [IncomingMessage];
    answer.pause();
    answer.on('error', () => {});
    await withDeadline('a write to wait for the client', waits);
    const before = sent;
    client.destroy();
    await withDeadline('the answer to end', finished);
    expect(sent).toBe(before);
  });
});
