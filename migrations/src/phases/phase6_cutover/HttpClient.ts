import { setTimeout as delay } from 'node:timers/promises';
import { RefusedError, VerificationError } from '../../errors';
import type { Address } from './address';

const TIMEOUT_MS = 30_000;

// About half a minute in all, for an application that is restarting.
const PAUSES_MS = [250, 500, 1000, 2000, ...Array<number>(8).fill(4000)];

/** The code of a refused connection. */
const REFUSED = 'ECONNREFUSED';

/** The length of the excerpt of an answer in an error. */
const EXCERPT_LENGTH = 200;

interface Request {
  method: 'GET' | 'POST' | 'DELETE';
  /** Below the base URL. */
  path: string;
  /** The value of `X-Tenant-Slug`. */
  tenant?: string;
  body?: unknown;
}

/** An answer of the application, of any status. */
export interface Answer {
  /** `GET https://portal.example.com/api/catalog/entities`. */
  request: string;
  status: number;
  contentType: string;
  /** The target of a redirect, without its query. */
  location?: string;
  body: string;
}

export interface HttpClientOptions {
  address: Address;
  /** Called after each refused connection, with the number of attempts. */
  onWaiting(what: string, attempts: number): void;
  timeoutMs?: number;
  /** Between attempts to connect; after the last it gives up. */
  pausesMs?: number[];
}

/**
 * Sends requests to the application. No error shows the token, even if an answer contains
 * it.
 */
export class HttpClient {
  constructor(private readonly options: HttpClientOptions) {}

  get baseUrl(): string {
    return this.options.address.baseUrl;
  }

  get token(): string | undefined {
    return this.options.address.token;
  }

  /**
   * The answer to a request. It retries refused connections only, for which nothing was
   * sent.
   *
   * @throws {@link RefusedError} if the application can't be reached
   * @throws {@link VerificationError} if it doesn't answer in time
   */
  async send(request: Request): Promise<Answer> {
    const what = `${request.method} ${this.baseUrl}${request.path}`;
    try {
      return await this.whenListening(what, () => this.attempt(what, request));
    } catch (error) {
      throw this.explain(what, error);
    }
  }

  /** An excerpt of an answer, for an error. */
  excerpt({ body }: Answer): string {
    const text = this.conceal(body).replace(/\s+/g, ' ').trim();
    return text.length > EXCERPT_LENGTH
      ? `${text.slice(0, EXCERPT_LENGTH)}…`
      : text;
  }

  private async whenListening<T>(
    what: string,
    attempt: () => Promise<T>,
  ): Promise<T> {
    const { pausesMs = PAUSES_MS, onWaiting } = this.options;
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!codesOf(error).includes(REFUSED) || attempts > pausesMs.length) {
          throw error;
        }
      }
      onWaiting(what, attempts);
      await delay(pausesMs[attempts - 1]);
    }
  }

  private async attempt(what: string, request: Request): Promise<Answer> {
    const response = await fetch(`${this.baseUrl}${request.path}`, {
      method: request.method,
      headers: this.headersOf(request),
      body:
        request.body === undefined ? undefined : JSON.stringify(request.body),
      // A redirect would test another address.
      redirect: 'manual',
      signal: AbortSignal.timeout(this.timeoutMs),
    });
    const body = await response.text();
    return {
      request: what,
      status: response.status,
      contentType: response.headers.get('content-type') ?? '',
      location: this.locationOf(response),
      body,
    };
  }

  private headersOf({ tenant, body }: Request): Record<string, string> {
    return {
      accept: 'application/json',
      ...(this.token ? { authorization: `Bearer ${this.token}` } : {}),
      ...(tenant ? { 'x-tenant-slug': tenant } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
  }

  private get timeoutMs(): number {
    return this.options.timeoutMs ?? TIMEOUT_MS;
  }

  // Without its query, which may hold secrets for a login page.
  private locationOf(response: Response): string | undefined {
    const location = response.headers.get('location');
    return location === null
      ? undefined
      : this.conceal(location.replace(/[?#].*$/, ''));
  }

  private conceal(text: string): string {
    return this.token ? text.replaceAll(this.token, '***') : text;
  }

  private explain(what: string, error: unknown): Error {
    if ((error as Error).name === 'TimeoutError') {
      return new VerificationError(
        `${what} had no answer within ${
          this.timeoutMs / 1000
        } s. Look into the ` +
          "application's log, and at its connections to the database.",
      );
    }
    const [code = (error as Error).message] = codesOf(error);
    return new RefusedError(
      `${what} can't be sent: ${this.conceal(reasonOf(code))}`,
    );
  }
}

function reasonOf(code: string): string {
  if (code === REFUSED) {
    return 'nothing accepts connections there. Has the application started again?';
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return 'the host is not known. Expected the address of the application (--base-url).';
  }
  if (/CERT|SIGNATURE/.test(code)) {
    return `its certificate is not trusted (${code}). Name its authority in NODE_EXTRA_CA_CERTS.`;
  }
  return `the connection failed (${code}).`;
}

/** The codes in the causes of a `fetch` error; a name with several addresses has several. */
function codesOf(error: unknown): string[] {
  const { code, cause, errors } = (error ?? {}) as {
    code?: unknown;
    cause?: unknown;
    errors?: unknown[];
  };
  return [
    ...(typeof code === 'string' ? [code] : []),
    ...(cause ? codesOf(cause) : []),
    ...(errors ?? []).flatMap(codesOf),
  ];
}
