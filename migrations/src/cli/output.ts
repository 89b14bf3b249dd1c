import { createInterface } from 'node:readline/promises';
import { RefusedError } from '../errors';
import type { Failure } from './failures';
import type { CommandOptions } from './options';

/** The streams of the process, or those of a test. */
export interface Streams {
  /** Without it the command cannot ask. */
  stdin?: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
}

/**
 * The output of a command. Standard output gets one JSON document with `--json`, and otherwise
 * the summary; standard error gets everything else.
 */
export class Output {
  private readonly secrets: Iterable<string>[] = [];
  private readonly document: Record<string, unknown>;

  constructor(
    private readonly streams: Streams,
    private readonly options: { json?: boolean },
    document: Record<string, unknown>,
  ) {
    this.document = { ...document };
  }

  /** Redacts these from all output; the set may grow later. */
  conceal(secrets: Iterable<string>): void {
    this.secrets.push(secrets);
  }

  /** Adds to the JSON document, which a failed command prints too. */
  add(fields: Record<string, unknown>): void {
    Object.assign(this.document, fields);
  }

  /** Prints text for people. */
  print(text: string): void {
    if (!this.options.json) {
      this.streams.stdout.write(`${text}\n`);
    }
  }

  succeed(summary: string): void {
    this.print(summary);
    if (this.options.json) {
      this.printDocument();
    }
  }

  fail(failure: Failure, stack?: string): void {
    this.note(`Error: ${failure.message}`);
    if (stack) {
      this.note(stack);
    }
    if (this.options.json) {
      this.add({
        error: { ...failure, message: this.redact(failure.message) },
      });
      this.printDocument();
    }
  }

  /** Prints to standard error. */
  note(text: string): void {
    this.streams.stderr.write(`${this.redact(text)}\n`);
  }

  private redact(text: string): string {
    return redact(text, new Set(this.secrets.flatMap(known => [...known])));
  }

  private printDocument(): void {
    this.streams.stdout.write(`${JSON.stringify(this.document, null, 2)}\n`);
  }
}

/**
 * Shows what a command is about to delete, and asks on the terminal whether to go on.
 *
 * @param losses - a line for each; without any it does not ask
 * @param expected - the answer that goes on
 * @throws {@link RefusedError} for any other answer, and where there is no
 *   terminal and no `--yes`
 */
export async function confirmLosses(
  losses: string[],
  options: Pick<CommandOptions, 'yes' | 'json'>,
  streams: Pick<Streams, 'stdin' | 'stderr'>,
  output: Pick<Output, 'note'>,
  expected = 'yes',
): Promise<void> {
  if (losses.length === 0) {
    return;
  }
  const { stdin, stderr } = streams;
  output.note(
    [
      'This will be deleted, and no copy is kept:',
      ...losses.map(loss => `- ${loss}`),
    ].join('\n'),
  );
  if (options.yes) {
    return;
  }
  if (options.json || !stdin?.isTTY || !stderr.isTTY) {
    throw new RefusedError(
      'No copy of these rows is kept, and there is no terminal to ask at. Give --yes to delete them.',
    );
  }
  // Without `terminal`, Ctrl-C stays the signal that stops the command.
  const prompt = createInterface({
    input: stdin,
    output: stderr,
    terminal: false,
  });
  try {
    // The end of the input counts as an empty answer.
    const closed = new Promise<string>(resolve =>
      prompt.once('close', () => resolve('')),
    );
    const answer = await Promise.race([
      prompt.question(`Delete them? Only "${expected}" goes on: `),
      closed,
    ]);
    if (answer.trim() !== expected) {
      throw new RefusedError(
        `Nothing was changed: the answer was not "${expected}".`,
      );
    }
  } finally {
    prompt.close();
  }
}

const MASK = '***';

// Shorter secrets occur in other words; only the patterns below redact these.
const MIN_SECRET_LENGTH = 4;

const CREDENTIALS_OF_URL = /([a-z][a-z0-9+.-]*:\/\/)[^\s"'<>]*@/gi;
const NAMED_SECRET =
  /((?:pass|passwd|password|token|secret)\s*[=:]\s*)[^\s&,;]+/gi;

/** A secret that is a word or a number may equal a name: only the patterns redact it. */
const WORD = /^(?:[A-Z]?[a-z_-]+|[A-Z_-]+|\d+)$/;

/** Redacts known secrets, and what looks like a password or token. */
export function redact(text: string, secrets: Iterable<string> = []): string {
  let redacted = text
    .replace(CREDENTIALS_OF_URL, `$1${MASK}@`)
    .replace(NAMED_SECRET, `$1${MASK}`);
  for (const secret of secrets) {
    if (secret.length >= MIN_SECRET_LENGTH && !WORD.test(secret)) {
      for (const form of [secret, encodeURIComponent(secret)]) {
        redacted = redacted.replaceAll(form, MASK);
      }
    }
  }
  return redacted;
}
