import * as http from 'http';
import * as https from 'https';
import { json } from 'stream/consumers';

const PATIENCE_MS = 5_000;

/** Whether a GET of this URL is answered with 200. */
export async function answersOk(url: string): Promise<boolean> {
  const response = await get(url);
  response?.resume();
  return response?.statusCode === 200;
}

/** What a GET of this URL is answered with, if that is JSON and with 200. */
export async function getJson(url: string, token?: string): Promise<unknown> {
  const response = await get(
    url,
    token ? { Authorization: `Bearer ${token}` } : {},
  );
  if (response?.statusCode !== 200) {
    response?.resume();
    return undefined;
  }
  return json(response).catch(() => undefined);
}

function get(
  url: string,
  headers: Record<string, string> = {},
): Promise<http.IncomingMessage | undefined> {
  const client = url.startsWith('https:') ? https : http;
  return new Promise(resolve => {
    // fetch would refuse the certificate that Backstage makes for localhost.
    const options = {
      headers,
      rejectUnauthorized: false,
      agent: false,
      signal: AbortSignal.timeout(PATIENCE_MS),
    };
    client.get(url, options, resolve).once('error', () => resolve(undefined));
  });
}
