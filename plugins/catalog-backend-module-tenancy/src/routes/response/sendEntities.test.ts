import express, { type Response } from 'express';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { get, type IncomingMessage, type Server } from 'node:http';
import request from 'supertest';
import { sendEntities } from './sendEntities';

describe('sendEntities', () => {
  let server: Server | undefined;

  async function* inParts(...parts: string[][]) {
    yield* parts;
  }

  const app = (send: (res: Response) => Promise<void>) =>
    express().get('/', (_req, res, next) => {
      send(res).catch(next);
    });

  afterEach(async () => {
    server?.closeAllConnections();
    server?.close();
    server = undefined;
  });

  it.each([
    [[], '[]'],
    [[['{"a":1}']], '[{"a":1}]'],
    [[['{"a":1}', '{"a":2}'], ['{"a":3}']], '[{"a":1},{"a":2},{"a":3}]'],
  ])('sends %j as one array', async (parts, expected) => {
    const answer = await request(
      app(res => sendEntities(res, inParts(...parts))),
    ).get('/');
    expect(answer.text).toBe(expected);
    expect(answer.status).toBe(200);
    expect(answer.get('Content-Type')).toBe('application/json; charset=utf-8');
  });

  it.each([0, 1, 99, 100, 101, 250])(
    'sends a list of %d that is there already with what is around it',
    async length => {
      const items = Array.from({ length }, (_, index) => `{"n":${index}}`);
      const answer = await request(
        app(res =>
          sendEntities(res, [items], {
            before: '{"items":',
            after: ',"totalItems":7}',
          }),
        ),
      ).get('/');
      expect(answer.body).toEqual({
        items: items.map(item => JSON.parse(item)),
        totalItems: 7,
      });
    },
  );

  it('answers HEAD without reading more than it needs to', async () => {
    const parts = jest.fn(async function* read() {
      yield ['{"a":1}'];
      throw new Error('Nobody needs this part');
    });
    const answer = await request(app(res => sendEntities(res, parts()))).head(
      '/',
    );
    expect(answer.status).toBe(200);
    expect(answer.get('Content-Type')).toBe('application/json; charset=utf-8');
  });

  it('gives an error of the first part a status', async () => {
    const answer = await request(
      app(res =>
        sendEntities(
          res,
          // eslint-disable-next-line require-yield
          (async function* fail() {
            throw Object.assign(new Error('down'), { status: 503 });
          })(),
        ),
      ),
    ).get('/');
    expect(answer.status).toBe(503);
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
    await waits;
    const before = sent;
    client.destroy();
    await finished;
    expect(sent).toBe(before);
  });
});
