import { ChildProcess, spawn } from 'child_process';
import { once } from 'events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'fs';
import { tmpdir } from 'os';
import { join } from 'path';
import { setTimeout as delay } from 'timers/promises';
import { targetPaths } from '@backstage/cli-common';
import { freePort } from '@internal/postgres';
import { answersOk } from '../backend';

const PATIENCE_MS = 120_000;

/** `npm start`, once it has printed what it was waited for, or has ended. */
type Started = {
  child: ChildProcess;
  output: string;
  /** What it has printed until now. */
  printed: () => string;
  exited: Promise<number>;
};

/** The arguments of Node.js that `npm start` has, which loads these modules first. */
function commandLine(first: string[]): string[] {
  const loaded = [...first, '@backstage/cli/config/nodeTransform.cjs'];
  return [
    ...loaded.flatMap(name => ['--require', require.resolve(name)]),
    require.resolve('../start.ts'),
    // It has no sources of pages.
    '--no-app',
  ];
}

/** With a command to come, the shell does not become the first one. */
const SHELL = ['sh', '-c', '"$@"; exit', 'sh'];

/**
 * What looks like a clone of this repository to `npm start`, with a data folder
 * and a port of its own, and without the developer's local configuration.
 */
export class Clone {
  readonly folder: string;
  readonly dataFolder: string;
  readonly port: number;
  readonly #children: ChildProcess[] = [];

  static async create(): Promise<Clone> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'start-test-')));
    const root = JSON.stringify({ workspaces: ['packages/*'] });
    writeFileSync(join(folder, 'package.json'), root);
    mkdirSync(join(folder, 'packages/backend'), { recursive: true });
    for (const name of ['app-config.yaml', 'examples']) {
      const source = targetPaths.resolveRoot(name);
      cpSync(source, join(folder, name), { recursive: true });
    }
    return new Clone(folder, await freePort('localhost'));
  }

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.dataFolder = join(folder, '.postgres');
    this.port = port;
  }

  get url(): string {
    return `http://localhost:${this.port}`;
  }

  /** @param env - on top of this process's own environment, without its flag */
  start(untilText: string, env: Record<string, string> = {}) {
    return this.#start(untilText, [process.execPath, ...commandLine([])], env);
  }

  /** The same by a shell in a shell, as npm has one. The outer one is the child. */
  startByShells(untilText: string) {
    const args = commandLine(['../rememberParent.cjs']);
    return this.#start(
      untilText,
      [...SHELL, ...SHELL, process.execPath, ...args],
      {},
    );
  }

  /** The same by a shell, which is killed before `start.ts` is loaded. */
  startOrphaned(untilText: string) {
    const args = commandLine(['../rememberParent.cjs', './endParent.cjs']);
    return this.#start(untilText, [...SHELL, process.execPath, ...args], {});
  }

  async #start(
    untilText: string,
    [command, ...args]: string[],
    env: Record<string, string>,
  ): Promise<Started> {
    const child = spawn(command, args, {
      cwd: this.folder,
      env: {
        ...process.env,
        NODE_ENV: 'development',
        POSTGRES_HOST: undefined,
        MULTI_TENANCY_ENABLED: undefined,
        TENANCY_POSTGRES_USER: undefined,
        APP_CONFIG_backend_listen_port: String(this.port),
        APP_CONFIG_backend_baseUrl: JSON.stringify(this.url),
        ...env,
      },
    });
    this.#children.push(child);
    const exited = once(child, 'exit').then(([code]) => code as number);
    let printed = '';
    const output = await new Promise<string>(resolve => {
      const collect = (chunk: Buffer) => {
        printed += chunk;
        if (printed.includes(untilText)) {
          resolve(printed);
        }
      };
      child.stdout.on('data', collect);
      child.stderr.on('data', collect);
      child.once('close', () => resolve(printed));
    });
    return { child, exited, output, printed: () => printed };
  }

  /** Waits for backend and database to be gone. */
  async isQuiet(): Promise<boolean> {
    const isRunning = async () =>
      existsSync(join(this.dataFolder, 'data/postmaster.pid')) ||
      (await answersOk(`${this.url}/.backstage/health/v1/liveness`));
    const deadline = Date.now() + PATIENCE_MS;
    while (await isRunning()) {
      if (Date.now() > deadline) {
        return false;
      }
      await delay(50);
    }
    return true;
  }

  async remove(): Promise<void> {
    this.#children.forEach(child => child.kill());
    await this.isQuiet();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
