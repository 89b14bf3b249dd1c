import type { Failure } from './failures';
import { redact } from './output/redact';

/** The streams of the process, or what stands for them in a test. */
export interface Streams {
  /** Nothing can be asked without it. */
  stdin?: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
}

/**
 * What a command hands back. Standard output holds nothing but that: SQL in a dry
 * run, one JSON document where that was asked for, else a summary.
 */
export class Output {
  private readonly secrets: Iterable<string>[] = [];
  private readonly document: Record<string, unknown>;
  private readonly sql: string[] = [];

  constructor(
    private readonly streams: Streams,
    private readonly options: { json?: boolean; dryRun?: boolean },
    document: Record<string, unknown>,
  ) {
    this.document = { ...document };
  }

  /** These must never be shown; they may become more. */
  conceal(secrets: Iterable<string>): void {
    this.secrets.push(secrets);
  }

  /** Adds to the JSON document, also of a command that fails later. */
  add(fields: Record<string, unknown>): void {
    Object.assign(this.document, fields);
  }

  /** Prints SQL of a dry run. */
  readonly printSql = (text: string): void => {
    if (this.options.json) {
      this.sql.push(text);
    } else {
      this.streams.stdout.write(text);
    }
  };

  /** Prints what is for people to read. */
  print(text: string): void {
    if (this.options.dryRun) {
      // Standard output is the script.
      this.note(text);
    } else if (!this.options.json) {
      this.streams.stdout.write(`${text}\n`);
    }
  }

  /** Prints to standard error, whatever the command hands back. */
  warn(text: string): void {
    this.note(text);
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

  private note(text: string): void {
    this.streams.stderr.write(`${this.redact(text)}\n`);
  }

  private redact(text: string): string {
    return redact(text, new Set(this.secrets.flatMap(known => [...known])));
  }

  private printDocument(): void {
    const { dryRun } = this.options;
    const document = {
      ...this.document,
      ...(dryRun ? { dryRun, sql: this.sql.join('') } : {}),
    };
    this.streams.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
  }
}
