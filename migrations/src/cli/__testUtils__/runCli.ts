import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import type { ClientConfig } from 'pg';
import { EXIT_CODES } from '../../errors';
import { main } from '../program';

const ROOT = resolve(__dirname, '../../../..');
const BIN = resolve(
  ROOT,
  'packages/catalog-tenancy-cli/bin/backstage-catalog-tenancy-cli',
);

/** The command line, as a shell calls it. */
export const BY_BIN = [process.execPath, BIN];

/** What a run of the command line left behind. */
export interface CliResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** What is expected of a run that fails: what it says why, and its exit code. */
export function failure(
  message: string | RegExp,
  exitCode: number = EXIT_CODES.refused,
) {
  const stderr =
    typeof message === 'string'
      ? expect.stringContaining(message)
      : expect.stringMatching(message);
  return { exitCode, stderr };
}

/** A run that is under way. */
export interface CliProcess {
  /** Resolves once standard error has a text. */
  said(text: string): Promise<void>;
  /** @returns whether it was still at work */
  signal(signal: NodeJS.Signals): boolean;
  /** Ends the reader of what it prints, as `head` does. */
  stopReading(): void;
  result: Promise<CliResult>;
}

/** Starts the command line by its bin. */
export function startCli(
  args: string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): CliProcess {
  const {
    NODE_ENV,
    MIGRATION_DATABASE_URL,
    DEBUG,
    // Messages name commands by how the tests were started otherwise.
    npm_config_user_agent,
    npm_lifecycle_event,
    ...env
  } = process.env;
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: options.cwd ?? ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, ...options.env },
    // Longer than any command takes.
    timeout: 30 * 60_000,
    killSignal: 'SIGKILL',
  });
  const texts = { stdout: '', stderr: '' };
  child.stdout.on('data', chunk => {
    texts.stdout += chunk;
  });
  child.stderr.on('data', chunk => {
    texts.stderr += chunk;
  });
  const result = new Promise<CliResult>((done, fail) => {
    child.on('error', fail);
    child.on('close', exitCode => done({ exitCode, ...texts }));
  });
  return {
    result,
    signal: signal => child.exitCode === null && child.kill(signal),
    stopReading: () =>
      [child.stdout, child.stderr].forEach(each => each.destroy()),
    async said(text) {
      while (!texts.stderr.includes(text)) {
        const ended = await Promise.race([
          new Promise(next => child.stderr.once('data', () => next(false))),
          result.then(() => true),
        ]);
        if (ended && !texts.stderr.includes(text)) {
          throw new Error(`It ended without "${text}":\n${texts.stderr}`);
        }
      }
    },
  };
}

/** Runs the command line to its end. */
export async function runCli(
  args: string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<CliResult> {
  return startCli(args, options).result;
}

/**
 * Runs a command in this process, without its configuration and environment: a process
 * for each command takes longer than all of them.
 */
export async function runInProcess(
  connection: ClientConfig,
  ...args: string[]
): Promise<CliResult> {
  return runMain([...args, '--url', urlOf(connection)]);
}

/** The same for what needs no database. */
export async function runWithoutDatabase(
  ...args: string[]
): Promise<CliResult> {
  return runMain(args);
}

/**
 * The same on a terminal.
 *
 * @param answer - is typed once something is asked; `null` ends the input instead
 */
export async function runOnTerminal(
  connection: ClientConfig,
  answer: string | null,
  ...args: string[]
): Promise<CliResult> {
  const stdin = new PassThrough();
  return runMain([...args, '--url', urlOf(connection)], {
    stdin: Object.assign(stdin, { isTTY: true }),
    onAsked: () => stdin.end(answer === null ? undefined : `${answer}\n`),
  });
}

async function runMain(
  args: string[],
  terminal?: { stdin: NodeJS.ReadableStream; onAsked: () => void },
): Promise<CliResult> {
  const texts = { stdout: '', stderr: '' };
  const collect = (name: keyof typeof texts) =>
    new Writable({
      write(chunk, _encoding, done) {
        texts[name] += chunk;
        // A question is the only line without an end.
        if (name === 'stderr' && texts.stderr.endsWith(': ')) {
          terminal?.onAsked();
        }
        done();
      },
    });
  const exitCode = await main(args, {
    stdin: terminal?.stdin,
    stdout: collect('stdout'),
    stderr: Object.assign(collect('stderr'), { isTTY: Boolean(terminal) }),
  });
  return { exitCode, ...texts };
}

/** A connection as the environment of the command line. */
export function urlEnvironment(
  connection: ClientConfig,
): Record<string, string> {
  return { MIGRATION_DATABASE_URL: urlOf(connection) };
}

/** A connection as a URL. */
export function urlOf(connection: ClientConfig): string {
  const { host, port, user, password, database } = connection;
  const credentials = [user, password]
    .map(part => encodeURIComponent(String(part)))
    .join(':');
  return `postgresql://${credentials}@${host}:${port}/${database}`;
}
