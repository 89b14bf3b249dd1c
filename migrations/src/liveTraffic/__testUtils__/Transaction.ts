import type { Random } from '@internal/postgres/testUtils';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import type { QueryResult } from 'pg';
import type { ExpectedRows, Row } from './expectedRows';
import type { Session, Statement } from './Session';
import type { TrafficSizes } from './sizes';

/** What a writer does in one transaction, or in a part of one. */
export interface Scenario {
  name: string;
  /** How often, compared with others. */
  weight: number;
  run(transaction: Transaction): Promise<void>;
}

/** A statement succeeded, with another effect than the expected rows show. */
export class SilentFailure extends Error {}

/** Thrown by a scenario that wants its transaction rolled back. */
export class DeliberateRollback extends Error {}

export interface TransactionOptions {
  session: Session;
  expected: ExpectedRows;
  random: Random;
  sizes: TrafficSizes;
  /** A text that no other call of any writer returns. */
  uniqueText(): string;
}

/** An upsert of one row. */
export interface Upsert {
  table: string;
  /** The column of the unique key, which the old application names. */
  key: string;
  sent: Row;
  /** The assignments for a row that exists, of `excluded.<column>` and others. */
  assignments: Record<string, string>;
  /** Expressions of the table's columns. */
  returning: string;
}

export interface Upserted {
  inserted: boolean;
  row: Record<string, string>;
}

const PREPARED_SHARE = 0.4;

/** A transaction of a writer, and the rows that it must leave. */
export class Transaction {
  readonly expected: ExpectedRows;
  readonly random: Random;
  readonly sizes: TrafficSizes;
  readonly tenantId: string | undefined;
  private readonly session: Session;

  constructor(private readonly options: TransactionOptions) {
    this.expected = options.expected;
    this.random = options.random;
    this.sizes = options.sizes;
    this.session = options.session;
    this.tenantId = options.session.application.tenantId;
  }

  uniqueText(): string {
    return this.options.uniqueText();
  }

  /**
   * @throws {@link SilentFailure} if it touches another number of rows
   */
  async query(
    what: string,
    statement: Statement,
    rows?: number,
  ): Promise<QueryResult> {
    const result = await this.session.query(
      statement,
      this.random.chance(PREPARED_SHARE),
    );
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
    rows: readonly Row[],
    returning = '',
  ): Promise<QueryResult> {
    const { text, values } = this.insertStatement(table, rows);
    return this.query(
      `insert into ${table}`,
      { text: `${text} ${returning}`, values },
      rows.length,
    );
  }

  /** An INSERT of rows that have the same columns. */
  insertStatement(table: string, rows: readonly Row[]): Statement {
    const columns = Object.keys(rows[0]);
    const values: unknown[] = [];
    const tenant = this.tenantId === undefined ? [] : [this.tenantId];
    const lists = rows.map(row => {
      const all = [...tenant, ...columns.map(column => row[column])];
      return `(${all.map(value => `$${values.push(value)}`).join(', ')})`;
    });
    const names = [...tenant.map(() => 'tenant_id'), ...columns];
    return {
      text: `insert into ${table} (${names.join(', ')}) values ${lists.join(
        ', ',
      )}`,
      values,
    };
  }

  /**
   * Inserts a row or updates the existing one.
   *
   * The old application names the key. The swap replaces that key, so the new
   * application names none: it inserts unless any key is taken, and then updates.
   */
  async upsert(options: Upsert): Promise<Upserted> {
    return this.tenantId === undefined
      ? this.upsertByKey(options)
      : this.upsertByAnyKey(options);
  }

  /** Does a part of the transaction that is taken back afterwards. */
  async takenBack(work: () => Promise<void>): Promise<void> {
    const restore = this.expected.savepoint();
    await this.session.query('savepoint part');
    await work();
    await this.session.query('rollback to savepoint part');
    restore();
  }

  /** Does a part of the transaction that could have been taken back. */
  async nested(work: () => Promise<void>): Promise<void> {
    await this.session.query('savepoint part');
    await work();
    await this.session.query('release savepoint part');
  }

  /**
   * Does what the database must refuse.
   *
   * @throws {@link SilentFailure} if it does not
   */
  async refused(code: string, work: () => Promise<unknown>): Promise<void> {
    const restore = this.expected.savepoint();
    await this.session.query('savepoint refused');
    try {
      await work();
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== code) {
        throw error;
      }
      await this.session.query('rollback to savepoint refused');
      restore();
      return;
    }
    throw new SilentFailure(`A constraint was violated without ${code}`);
  }

  /** Keeps the transaction open, with all the locks that it has. */
  async hold(atLeast: number, atMost: number): Promise<void> {
    await sleep(atLeast + this.random.below(Math.max(1, atMost - atLeast)));
  }

  private async upsertByKey({
    table,
    key,
    sent,
    assignments,
    returning,
  }: Upsert): Promise<Upserted> {
    const { text, values } = this.insertStatement(table, [sent]);
    const list = Object.entries(assignments).map(pair => pair.join(' = '));
    const { rows } = await this.query(
      `upsert into ${table}`,
      {
        text:
          `${text} on conflict (${key}) do update set ${list.join(', ')} ` +
          `returning ${returning}, ${table}.xmax::text = '0' as inserted`,
        values,
      },
      1,
    );
    const [{ inserted, ...row }] = rows;
    return { inserted, row };
  }

  private async upsertByAnyKey({
    table,
    key,
    sent,
    assignments,
    returning,
  }: Upsert): Promise<Upserted> {
    const insert = this.insertStatement(table, [sent]);
    const values: unknown[] = [sent[key]];
    const list = Object.entries(assignments).map(([column, expression]) => {
      const value = expression.replace(
        /excluded\.(\w+)/,
        (_, name) => `$${values.push(sent[name])}`,
      );
      return `${column} = ${value}`;
    });
    for (;;) {
      const inserted = await this.query(`insert into ${table} unless there`, {
        text: `${insert.text} on conflict do nothing returning ${returning}`,
        values: insert.values,
      });
      if (inserted.rowCount === 1) {
        return { inserted: true, row: inserted.rows[0] };
      }
      const updated = await this.query(`update ${table} if there`, {
        text:
          `update ${table} set ${list.join(', ')} where ${key} = $1 {scope} ` +
          `returning ${returning}`,
        values,
      });
      if (updated.rowCount === 1) {
        return { inserted: false, row: updated.rows[0] };
      }
      // Another writer has deleted the row in between.
    }
  }
}
