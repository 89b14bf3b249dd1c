import * as http from 'http';
import * as https from 'https';

const PATIENCE_MS = 5_000;

/** Whether a GET of this URL is answered with 200. */
export function answersOk(url: string): Promise<boolean> {
  const { get } = url.startsWith('https:') ? https : http;
  return new Promise(resolve => {
    // fetch would refuse the certificate that Backstage makes for localhost.
    const options = {
      rejectUnauthorized: false,
      agent: false,
      signal: AbortSignal.timeout(PATIENCE_MS),
    };
    get(url, options, response => {
      response.resume();
      resolve(response.statusCode === 200);
    }).once('error', () => resolve(false));
  });
}
