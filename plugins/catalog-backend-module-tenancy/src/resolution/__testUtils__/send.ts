import { type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';

export interface Answer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  text: string;
}

/** Sends exactly these headers, where other clients would mend them. */
export function send(
  port: number,
  headers: OutgoingHttpHeaders = {},
  method: string = 'GET',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        path: '/api/catalog/entities',
        method,
        headers,
        agent: false,
      },
      response => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', chunk => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            headers: Object.fromEntries(
              Object.entries(response.headers).map(([name, value]) => [
                name,
                String(value),
              ]),
            ),
            text,
          });
        });
      },
    );
    call.on('error', reject);
    call.end();
  });
}

/** Sends these bytes on a connection of their own, and returns all that comes back. */
export function sendRaw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', chunk => {
      answer += chunk;
    });
    socket.on('error', reject);
    socket.on('end', () => resolve(answer));
  });
}
