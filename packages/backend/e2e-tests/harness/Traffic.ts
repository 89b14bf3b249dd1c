import type { CDPSession, Page } from 'playwright-core';
import { foreignData } from './foreignData';

/** A request that a page has sent to the API, with the whole answer. */
export interface Call {
  method: string;
  url: URL;
  headers: Record<string, string>;
  status: number;
  body: string;
  /** What was open in the page by then, as the test says; undefined where nothing was. */
  expected?: string[];
}

// What holds the data of one tenant. The other plugins know no tenants.
const OF_A_TENANT =
  /^\/api\/(catalog|kubernetes|mockup|notifications|scaffolder|search|techdocs|user-settings)\//;

/**
 * What the pages of a visitor ask of the API. Each answer is read before the page gets it,
 * so that none is missed when the page is left.
 */
export class Traffic {
  readonly calls: Call[] = [];
  /** What came over WebSockets, with what was open in the page by then. */
  readonly #frames: { text: string; expected?: string[] }[] = [];

  #expected: string[] | undefined;

  /** @param onGivenUp - gets the URL of a request whose answer the page no longer wants */
  async watch(page: Page, onGivenUp: (url: string) => void): Promise<void> {
    page.on('websocket', socket =>
      socket.on('framereceived', ({ payload }) =>
        this.#frames.push({
          text: payload.toString(),
          expected: this.#expected,
        }),
      ),
    );
    const session = await page.context().newCDPSession(page);
    session.on('Fetch.requestPaused', event => {
      // The page has aborted it, or was left or closed: it did not see the answer either.
      this.#read(session, event).catch(() => onGivenUp(event.request.url));
    });
    await session.send('Fetch.enable', {
      patterns: [{ urlPattern: '*/api/*', requestStage: 'Response' }],
    });
  }

  async #read(
    session: CDPSession,
    event: {
      requestId: string;
      request: {
        url: string;
        method: string;
        headers: Record<string, string>;
      };
      responseStatusCode?: number;
    },
  ): Promise<void> {
    const { requestId, request, responseStatusCode: status } = event;
    const expected = this.#expected;
    if (status !== undefined) {
      const { body, base64Encoded } = await session
        .send('Fetch.getResponseBody', { requestId })
        // A redirect has no body.
        .catch(() => ({ body: '', base64Encoded: false }));
      this.calls.push({
        method: request.method,
        url: new URL(request.url),
        headers: Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [
            name.toLowerCase(),
            value,
          ]),
        ),
        status,
        body: base64Encoded ? Buffer.from(body, 'base64').toString() : body,
        expected,
      });
    }
    await session.send('Fetch.continueResponse', { requestId });
  }

  /** From now on, requests for data of tenants have to name one of these. */
  expect(tenants: string[] | undefined): void {
    this.#expected = tenants;
  }

  /** What went to the wrong tenant, or came from another one. */
  get mixUps(): string[] {
    const foreign = this.#frames.flatMap(({ text, expected }) => {
      const found = foreignData(text, expected ?? []);
      return found ? [`A frame has ${found.found} of ${found.tenant}`] : [];
    });
    return [...this.calls.flatMap(mixUpsOf), ...foreign];
  }
}

/** What is wrong with a call, as far as tenants are concerned. */
export function mixUpsOf(call: Call): string[] {
  const { method, url, body, expected } = call;
  const what = `${method} ${url}`;
  const tenant = tenantOf(call);
  const isOfTenant = OF_A_TENANT.test(url.pathname);
  const wrong =
    isOfTenant && expected && !expected.includes(tenant)
      ? [`${what} went to ${tenant}, not to ${expected.join(' or ')}`]
      : [];
  // What knows no tenants must not tell of any.
  const foreign = foreignData(
    // An error may say what was asked for.
    call.status === 404 ? '' : body,
    isOfTenant ? [tenant] : expected ?? [],
  );
  return foreign
    ? [
        ...wrong,
        `${what} for ${tenant} has ${foreign.found} of ${foreign.tenant}`,
      ]
    : wrong;
}

/** The tenant that a request names: by its host before its header. */
function tenantOf({ url, headers }: Call): string {
  const [label, ...domain] = url.hostname.split('.');
  return domain.length > 0 ? label : headers['x-tenant-slug'] ?? 'default';
}
