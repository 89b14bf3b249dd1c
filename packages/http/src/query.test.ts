import express from 'express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { sendPage } from './answers';
import { readQuery } from './query';

const app = express().get('/list', (req, res) => {
  const page = { items: [readQuery(req)], totalItems: 9 };
  sendPage(req, res, page, { limit: 1, offset: undefined, cursor: 'c' });
});
const server = app.listen(0);

async function get(search: string) {
  if (!server.listening) {
    await once(server, 'listening');
  }
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/list?${search}`);
  const [query] = (await response.json()) as object[];
  return { query, link: response.headers.get('Link') };
}

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

it.each(['__proto__=1', '__proto__[a]=1', '%5F_proto__=1'])(
  'has %s, which Express leaves out',
  async search => {
    const { query } = await get(search);
    expect(Object.keys(query)).toEqual(['__proto__']);
  },
);

it('leads to the next page of a query with a question mark in it', async () => {
  const { link } = await get('search=a?b&offset=3&limit=2');
  expect(link).toBe('</list?search=a%3Fb&limit=1&cursor=c>; rel="next"');
});
