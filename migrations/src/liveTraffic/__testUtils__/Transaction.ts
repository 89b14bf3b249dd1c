import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import type { QueryResult } from 'pg';
import type { Draft } from './Draft';
import { insertStatement } from './application';
import type { Application, Statement } from './application';
import type { Random } from '@internal/postgres/testUtils';
import type { Session } from './Session';
import type { Waits } from './Waits';
import type { TrafficSizes } from './sizes';

/** A statement did something else than the record says that it must do. */
export class SilentFailure extends Error {}

/** Thrown by a scenario that wants its transaction rolled back. */
export class DeliberateRollback extends Error {}

export interface TransactionOptions {
  writer: string;
  session: Session;
  draft: Draft;
  random: Random;
  waits: Waits;
  sizes: TrafficSizes;
  /** A text that no other call has returned, of this writer or another. */
  fresh(): string;
}

export interface QueryOptions {
  /** How many rows it must touch. */
  rows?: number;
  /** Whether other writers touch the same rows. */
  shared?: boolean;
}

const PREPARED_SHARE = 0.4;

/** A transaction of a writer, and what it has done so far. */
export class Transaction {
  readonly draft: Draft;
  readonly random: Random;
  readonly sizes: TrafficSizes;
  readonly application: Application;
  private readonly session: Session;

  constructor(private readonly options: TransactionOptions) {
    this.draft = options.draft;
    this.random = options.random;
    this.sizes = options.sizes;
    this.session = options.session;
    this.application = options.session.application;
  }

  fresh(): string {
    return this.options.fresh();
  }

  /**
   * @throws {@link SilentFailure} if it touches another number of rows than the
   *   record says
   */
  async query(
    what: string,
    statement: Statement,
    { rows, shared = false }: QueryOptions = {},
  ): Promise<QueryResult> {
    const { writer, waits, random } = this.options;
    const begun = performance.now();
    const result = await this.session.query(
      statement,
      random.chance(PREPARED_SHARE),
    );
    const ms = performance.now() - begun;
    waits.add({ ms, what, writer, shared });
    if (rows !== undefined && result.rowCount !== rows) {
      throw new SilentFailure(
        `${what}: ${result.rowCount} rows instead of ${rows}`,
      );
    }
    return result;
  }

  /** Inserts rows that have the same columns. */
  async insert(
    table: string,
    rows: Readonly<Record<string, unknown>>[],
    returning = '',
  ): Promise<QueryResult> {
    const { text, values } = insertStatement(this.application, table, rows);
    return this.query(
      `insert into ${table}`,
      { text: `${text} ${returning}`, values },
      { rows: rows.length },
    );
  }

  /** Does a part of the transaction that is taken back afterwards. */
  async takenBack(work: () => Promise<void>): Promise<void> {
    const restore = this.draft.savepoint();
    await this.control('savepoint part');
    await work();
    await this.control('rollback to savepoint part');
    restore();
  }

  /** Does a part of the transaction that could have been taken back. */
  async nested(work: () => Promise<void>): Promise<void> {
    await this.control('savepoint part');
    await work();
    await this.control('release savepoint part');
  }

  /**
   * Does what the database must refuse.
   *
   * @throws {@link SilentFailure} if it does not
   */
  async refused(code: string, work: () => Promise<unknown>): Promise<void> {
    const restore = this.draft.savepoint();
    await this.control('savepoint refused');
    try {
      await work();
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== code) {
        throw error;
      }
      await this.control('rollback to savepoint refused');
      restore();
      return;
    }
    throw new SilentFailure(`What violates a constraint (${code}) was done`);
  }

  /** Keeps the transaction open, with all the locks that it has. */
  async hold(atLeast: number, atMost: number): Promise<void> {
    await sleep(atLeast + this.random.below(Math.max(1, atMost - atLeast)));
  }

  private async control(text: string): Promise<void> {
    await this.session.query({ text, values: [] });
  }
}
