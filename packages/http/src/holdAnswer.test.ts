import express from 'express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { holdAnswer } from './holdAnswer';

it('answers when it is let, with what the handler has said', async () => {
  const happened: string[] = [];
  let release = () => {};
  const server = express()
    .get('/', (_req, res) => {
      release = holdAnswer(res);
      res.on('finish', () => happened.push('answered'));
      res.status(201).json({ a: 1 });
      happened.push('handled');
    })
    .listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const answer = fetch(`http://127.0.0.1:${port}/`);
    await once(server, 'request');
    happened.push('released');
    release();
    const response = await answer;
    expect([response.status, await response.json()]).toEqual([201, { a: 1 }]);
    expect(happened).toEqual(['handled', 'released', 'answered']);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
