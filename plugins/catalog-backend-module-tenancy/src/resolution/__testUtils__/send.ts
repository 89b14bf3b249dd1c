import { type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';

export interface Answer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  text: string;
}

/** Asks for the entities with exactly these headers, where other clients would mend them. */
export function send(
  port: number,
  headers: OutgoingHttpHeaders = {},
  method: string = 'GET',
): Promise<Answer> {
  return sendTo(port, '/api/catalog/entities', headers, method);
}

/** The same to any path. */
export function sendTo(
  port: number,
  path: string,
  headers: OutgoingHttpHeaders,
  method: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        path,
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

/** Sends these bytes, of Latin-1, on a connection of their own. */
export function sendRaw(port: number, bytes: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(bytes, 'latin1'),
    );
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', chunk => {
      answer += chunk;
    });
    socket.on('error', reject);
    socket.on('end', () => resolve(parseAnswer(answer)));
  });
}

function parseAnswer(answer: string): Answer {
  const end = answer.indexOf('\r\n\r\n');
  const [statusLine, ...lines] = answer.slice(0, end).split('\r\n');
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: Object.fromEntries(
      lines.map(line => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
      }),
    ),
    text: answer.slice(end + 4),
  };
}
