import { ChildProcessByStdio, spawn } from 'child_process';
import { readFileSync } from 'fs';
import { createInterface } from 'readline';
import { Readable, Writable } from 'stream';
import { targetPaths } from '@backstage/cli-common';
import { waitUntil, withDeadline } from '@internal/postgres/testUtils';
import { inBrowser } from '../harness/inBrowser';

const END = '--- end of the answer ---';

/** A shell in the folder of README.md. */
class Shell {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    this.#child = spawn('sh', {
      cwd: targetPaths.rootDir,
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  /** What a command prints. */
  async type(command: string): Promise<string> {
    this.#child.stdin.write(`${command}\necho '${END}'\n`);
    const answer = await withDeadline(
      `the end of ${command}`,
      this.#readAnswer(),
      { withinMs: 120_000 },
    );
    const [, port] = /listen\((\d+)\)/.exec(command) ?? [];
    if (port) {
      // A reader is slower than that. What an engine cannot read, it reads again half an hour later.
      await waitUntil(`a server on port ${port}`, () =>
        fetch(`http://localhost:${port}/billing.yaml`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
    }
    return answer;
  }

  async #readAnswer(): Promise<string> {
    const printed: string[] = [];
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done || value === END) {
        return printed.join('\n').trim();
      }
      printed.push(value);
    }
  }

  /** Ends what was left running in it, too. */
  end(): void {
    process.kill(-this.#child.pid!, 'SIGTERM');
  }
}

/** What a reader of README.md types, and gets. */
export function testReadme(): void {
  describe('README.md', () => {
    inBrowser(
      'has requests that answer as printed, and make what the browser draws',
      async ({ portal, visit }) => {
        // As they are before `npm start` says that it is ready.
        for (const [tenant, component] of [
          ['default', 'shop-frontend'],
          ['acme', 'route-planner'],
          ['initech', 'tps-reports'],
        ]) {
          await portal.untilServed(tenant, component);
        }
        const shell = new Shell();
        let created = '';
        try {
          for (const { command, expected } of readSteps()) {
            const answer = await shell.type(
              command
                .replace('//localhost:7007', `//${new URL(portal.url()).host}`)
                .replace(
                  '//acme.localhost:7007',
                  `//${new URL(portal.url('acme')).host}`,
                )
                // "Use the id that you got."
                .replace(/^ID=.*/, `ID=${created}`),
            );
            if (expected) {
              expect({ command, answer: comparable(answer) }).toEqual({
                command,
                answer: comparable(expected),
              });
            }
            created = /"name": "Checkout"/.test(answer)
              ? JSON.parse(answer).id
              : created;
          }
        } finally {
          shell.end();
        }

        const { page } = await visit({ as: 'guest' });
        await page.goto(`/mockups/${created}`);
        const canvas = page.getByRole('listbox', { name: 'Canvas' });
        await canvas.getByRole('option', { name: /^Button/ }).waitFor();
        await canvas.getByText('Buy now').waitFor();
        expect(await canvas.getByText('no such component').count()).toBe(0);
      },
    );
  });
}

/** Each command of the blocks, and what stands below it. */
function readSteps(): { command: string; expected: string }[] {
  const readme = readFileSync(targetPaths.resolveRoot('README.md'), 'utf8');
  const blocks = readme.matchAll(/^```console\n(.*?)^```/gms);
  return [...blocks]
    .flatMap(([, block]) => block.split(/^\$ /m).slice(1))
    .map(step => {
      // A command goes on in lines that are indented by four blanks.
      const [command] = /^.*\n( {4}.*\n)*/.exec(step)!;
      return { command, expected: step.slice(command.length).trim() };
    });
}

/** An answer without what differs each time. */
function comparable(answer: string): unknown {
  const text = answer
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>');
  return JSON.parse(text);
}
