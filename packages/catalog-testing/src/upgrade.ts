import { type OutgoingHttpHeaders, request } from 'node:http';
import type { Duplex } from 'node:stream';

/** What became of the wish for a WebSocket. */
export interface Upgraded {
  status: number;
  headers: Record<string, unknown>;
  /** The body of a refusal, or what came with the switch of protocols. */
  text: string;
  /** Open after status 101. */
  socket: Duplex;
}

/** Asks for a WebSocket, and leaves its frames to the test. */
export function upgrade(
  port: number,
  path: string,
  headers: OutgoingHttpHeaders = {},
): Promise<Upgraded> {
  return new Promise((resolve, reject) => {
    const call = request({
      host: '127.0.0.1',
      port,
      path,
      agent: false,
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': Buffer.alloc(16).toString('base64'),
        ...headers,
      },
    });
    call.once('error', reject);
    call.once('upgrade', (response, socket, head) => {
      resolve({
        status: 101,
        headers: response.headers,
        text: head.toString(),
        socket,
      });
    });
    call.once('response', response => {
      const { socket } = response;
      let text = '';
      response.setEncoding('utf8');
      response.on('data', chunk => {
        text += chunk;
      });
      response.once('error', reject);
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          socket,
        }),
      );
    });
    call.end();
  });
}
