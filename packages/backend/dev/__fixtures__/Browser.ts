import http from 'http';
import { text } from 'stream/consumers';
import { CookieJar, getPublicSuffix } from 'tough-cookie';

/** What a page or a call got. */
export interface Answer {
  /** Of the last hop. */
  url: URL;
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  /** All cookies that were set on the way, as they were sent. */
  setCookies: string[];
}

interface Call {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/**
 * What a browser does with redirects, cookies, forms and calls to other origins, in one
 * profile: `tough-cookie` keeps the cookies by their host, path, `Secure` and `SameSite`.
 * Every host but 127.0.0.1 is reached by a proxy that ends TLS, which this stands in for.
 */
export class Browser {
  readonly #jar = new CookieJar();
  readonly #backendPort: number;

  constructor(options: { backendPort: number }) {
    this.#backendPort = options.backendPort;
  }

  /** Opens a page in a window, and follows its redirects. */
  async open(url: string | URL, call: Call = {}): Promise<Answer> {
    const setCookies: string[] = [];
    let next = new URL(url);
    let request = call;
    for (let hops = 0; hops < 20; hops += 1) {
      const answer = await this.#send(next, request, 'lax');
      setCookies.push(...answer.setCookies);
      const { location } = answer.headers;
      if (answer.status < 300 || answer.status > 399 || !location) {
        return { ...answer, setCookies };
      }
      next = new URL(location, next);
      request = {};
    }
    throw new Error(`${url} redirects for ever`);
  }

  /** Fills the form of a page in, and sends it. */
  async submit(page: Answer, fields: Record<string, string>): Promise<Answer> {
    const action = /<form[^>]* action="([^"]+)"/.exec(page.text)?.[1];
    if (!action) {
      throw new Error(`${page.url} has no form: ${page.text}`);
    }
    const hidden = page.text.matchAll(
      /<input type="hidden" name="(\w+)" value="(\w+)"/g,
    );
    const body = new URLSearchParams(fields);
    for (const [, name, value] of hidden) {
      body.set(name, value);
    }
    return this.open(new URL(action, page.url), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: body.toString(),
    });
  }

  /**
   * Calls a URL as the script of a page does, with `credentials: 'include'`. Rejects
   * where a browser keeps the answer from the script, or does not call.
   */
  async fetch(page: string, url: string, call: Call = {}): Promise<Answer> {
    const from = new URL(page);
    const to = new URL(url);
    const isCrossOrigin = from.origin !== to.origin;
    const sameSite = siteOf(from) === siteOf(to) ? 'strict' : 'none';
    const headers: Record<string, string> = isCrossOrigin
      ? { origin: from.origin }
      : {};
    if (isCrossOrigin) {
      assertMayCall(to, await this.#send(from, {}, 'lax'));
      const names = Object.keys(call.headers ?? {}).join(',');
      const preflight = await this.#send(to, {
        method: 'OPTIONS',
        headers: {
          ...headers,
          'access-control-request-method': call.method ?? 'GET',
          'access-control-request-headers': names,
        },
      });
      assertAllowed(from, preflight);
    }
    const answer = await this.#send(
      to,
      { ...call, headers: { ...headers, ...call.headers } },
      sameSite,
    );
    if (isCrossOrigin) {
      assertAllowed(from, answer);
    }
    return answer;
  }

  /** The cookies that the server of a URL gets. */
  async cookies(url: string): Promise<string> {
    return this.#jar.getCookieString(url);
  }

  /** @param sameSite - which cookies it may have; without it, none */
  async #send(
    url: URL,
    { method = 'GET', headers, body }: Call,
    sameSite?: 'strict' | 'lax' | 'none',
  ): Promise<Answer> {
    const cookie = sameSite
      ? await this.#jar.getCookieString(url.href, { sameSiteContext: sameSite })
      : '';
    const isProxied = url.hostname !== '127.0.0.1';
    const request = http.request({
      method,
      host: '127.0.0.1',
      port: isProxied ? this.#backendPort : url.port,
      path: `${url.pathname}${url.search}`,
      headers: {
        host: url.host,
        ...(isProxied
          ? { 'x-forwarded-proto': url.protocol.slice(0, -1) }
          : {}),
        ...(cookie ? { cookie } : {}),
        ...headers,
      },
    });
    request.end(body);
    const response = await new Promise<http.IncomingMessage>(
      (resolve, reject) => {
        request.once('response', resolve).once('error', reject);
      },
    );
    const setCookies = response.headers['set-cookie'] ?? [];
    if (sameSite) {
      for (const value of setCookies) {
        await this.#jar.setCookie(value, url.href, {
          sameSiteContext: sameSite,
        });
      }
    }
    return {
      url,
      status: response.statusCode!,
      headers: response.headers,
      text: await text(response),
      setCookies,
    };
  }
}

function siteOf({ protocol, hostname }: URL): string {
  return `${protocol}//${getPublicSuffix(hostname) ?? hostname}`;
}

/** The policy of the page itself. */
function assertMayCall(to: URL, { headers }: Answer): void {
  const policy = String(headers['content-security-policy'] ?? '');
  const sources =
    /connect-src ([^;]*)/.exec(policy) ?? /default-src ([^;]*)/.exec(policy);
  if (sources && !sources[1].split(' ').includes(to.origin)) {
    throw new Error(`The policy of the page has no ${to.origin}: ${policy}`);
  }
}

/** CORS. */
function assertAllowed(from: URL, { headers }: Answer): void {
  if (
    headers['access-control-allow-origin'] !== from.origin ||
    headers['access-control-allow-credentials'] !== 'true'
  ) {
    throw new Error(`CORS keeps the answer from ${from.origin}`);
  }
}
