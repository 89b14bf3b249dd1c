import { ChildProcess, spawn } from 'child_process';
import { once } from 'events';
import * as http from 'http';
import * as https from 'https';
import { json } from 'stream/consumers';
import { setTimeout as delay } from 'timers/promises';
import { SAMPLE_SLUG } from './banner';

const STOP_PATIENCE_MS = 15_000;

const POLL_MS = 500;

/** The backend, running as a child of this process. */
export class BackendProcess {
  /** Resolves with the exit code once the backend has ended. */
  readonly exited: Promise<number>;

  readonly #child: ChildProcess;

  static start(options: {
    args: string[];
    folder: string;
    env: Record<string, string>;
    /** The descriptor of a file for what it logs; otherwise this process prints that. */
    log?: number;
  }): BackendProcess {
    const output = options.log ?? 'inherit';
    const child = spawn(
      process.execPath,
      [
        ...['--require', require.resolve('./exitWithParent.cjs')],
        ...[
          '--require',
          require.resolve('@backstage/cli/config/nodeTransform.cjs'),
        ],
        require.resolve('./portal.ts'),
        ...options.args,
      ],
      {
        cwd: options.folder,
        stdio: ['ignore', output, output, 'ipc'],
        // Ctrl-C would otherwise reach the backend too, at the same time.
        detached: true,
        // The guest may sign in during development only.
        env: { ...process.env, ...options.env, NODE_ENV: 'development' },
      },
    );
    return new BackendProcess(child);
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    // Without a code it was killed, which is no success.
    this.exited = once(child, 'exit').then(([code]) => code ?? 1);
  }

  /** Waits for the backend; false if it ends before it is ready to serve. */
  async untilReady(url: string): Promise<boolean> {
    while (this.#isRunning()) {
      if (await answersOk(url)) {
        return true;
      }
      await delay(POLL_MS);
    }
    return false;
  }

  async stop(): Promise<void> {
    if (this.#isRunning()) {
      this.#child.kill('SIGTERM');
      const overdue = setTimeout(
        () => this.#child.kill('SIGKILL'),
        STOP_PATIENCE_MS,
      );
      await this.exited;
      clearTimeout(overdue);
    }
  }

  #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }
}

const SIGNALS: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Resolves when this process is to stop: on a signal, or when npm or yarn, which
 * ran it, is gone. Signals to npm may end there: it passes them on to a shell, and
 * many shells die of them without passing them on further.
 *
 * Later signals are ignored. Ctrl-C sends two of them, from the terminal and npm.
 */
export function stopRequest(): Promise<void> {
  return new Promise(resolve => {
    SIGNALS.forEach(signal => process.on(signal, () => resolve()));
    // Of rememberParent.cjs.
    const { PARENT_OF_START: parent, NPM_OF_START: npm } = process.env;
    if (parent) {
      const isGone = () =>
        String(process.ppid) !== parent || (npm && !hasProcess(Number(npm)));
      setInterval(() => isGone() && resolve(), POLL_MS).unref();
    }
  });
}

function hasProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const SAMPLES_POLL_MS = 1_000;

// The engine takes a few seconds for what it ingests; longer, and something is amiss
// that its log tells about.
const SAMPLES_PATIENCE_MS = 60_000;

// The last of each file of the examples, and one that the others point at.
const SAMPLES: { entity: string; tenant?: string }[] = [
  { entity: 'api/default/stock' },
  { entity: 'component/default/shop-frontend' },
  { entity: 'group/default/initech-staff' },
  { entity: 'user/default/guest' },
  { entity: 'user/default/anna' },
  { entity: 'user/default/peter' },
  { entity: 'component/default/route-planner', tenant: SAMPLE_SLUG },
];

/** A token for trying out the portal. */
async function guestToken(baseUrl: string): Promise<string | undefined> {
  const session = await getJson(`${baseUrl}/api/auth/guest/refresh`);
  return (session as { backstageIdentity?: { token?: string } } | undefined)
    ?.backstageIdentity?.token;
}

/**
 * Waits until the catalogs show the examples with their relations, which their engines
 * ingest while the backend is ready already.
 */
export async function untilSamplesAreServed(
  baseUrl: string,
  isRunning: () => boolean,
  options: { tenants: boolean },
): Promise<void> {
  const deadline = Date.now() + SAMPLES_PATIENCE_MS;
  const token = await guestToken(baseUrl);
  let missing = SAMPLES.filter(({ tenant }) => !tenant || options.tenants);
  while (token && isRunning() && Date.now() < deadline) {
    const [next] = missing;
    if (await isComplete(baseUrl, next, token)) {
      missing = missing.slice(1);
      if (missing.length === 0) {
        // It logs that it makes a key for its tokens, which its tasks do only some seconds later.
        await getJson(`${baseUrl}/api/search/query?term=`, {
          Authorization: `Bearer ${token}`,
        });
        return;
      }
    } else {
      await delay(SAMPLES_POLL_MS);
    }
  }
}

async function isComplete(
  baseUrl: string,
  { entity, tenant }: (typeof SAMPLES)[number],
  token: string,
): Promise<boolean> {
  const catalog = `${baseUrl}/api/catalog/entities`;
  const headers = {
    Authorization: `Bearer ${token}`,
    ...(tenant && { 'X-Tenant-Slug': tenant }),
  };
  const found = (await getJson(`${catalog}/by-name/${entity}`, headers)) as
    | { relations?: unknown[] }
    | undefined;
  return (
    Boolean(found?.relations?.length) ||
    // It was deleted, and stays so.
    (tenant !== undefined &&
      (await getJson(`${catalog}?limit=1`, headers)) === undefined)
  );
}

const REQUEST_PATIENCE_MS = 5_000;

/** Whether a GET of this URL is answered with 200. */
export async function answersOk(url: string): Promise<boolean> {
  const response = await get(url);
  response?.resume();
  return response?.statusCode === 200;
}

/** What a GET of this URL is answered with, if that is JSON and with 200. */
async function getJson(
  url: string,
  headers?: Record<string, string>,
): Promise<unknown> {
  const response = await get(url, headers);
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
      signal: AbortSignal.timeout(REQUEST_PATIENCE_MS),
    };
    client.get(url, options, resolve).once('error', () => resolve(undefined));
  });
}
