import type { Random } from '@internal/postgres/testUtils';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import type { TenantTable } from '../../schema/tables';
import type { Session } from './Session';
import { COLUMNS } from './shadow';
import type { TrafficSizes } from './sizes';

/** A row as texts, exactly as they are sent to the database or returned by it. */
export type Row = Readonly<Record<string, string | null>>;

/** What a writer does in one transaction, or in a part of one. */
export interface Scenario {
  name: string;
  /** How often, compared with others. */
  weight: number;
  run(transaction: Transaction): Promise<void>;
}

/** A statement succeeded, with another effect than on the copies of the tables. */
export class SilentFailure extends Error {}

/** Thrown by a scenario that wants its transaction rolled back. */
export class DeliberateRollback extends Error {}

/** Who writes. */
export interface Author {
  /** The schema with the copies of the tables. */
  shadow: string;
  /** The condition on the entities that only this writer touches. */
  own: string;
  random: Random;
  sizes: TrafficSizes;
  /** A text that no other call of any writer returns. */
  uniqueText(): string;
}

const PREPARED_SHARE = 0.4;

/** A transaction of a writer, which makes each change in the tables and in their copies. */
export class Transaction {
  readonly random: Random;
  readonly sizes: TrafficSizes;

  constructor(
    private readonly session: Session,
    private readonly author: Author,
  ) {
    this.random = author.random;
    this.sizes = author.sizes;
  }

  uniqueText(): string {
    return this.author.uniqueText();
  }

  /**
   * Runs a statement, with `{entities}` for the table and `{scope}` where a condition on the
   * tenant belongs.
   *
   * @throws {@link SilentFailure} if it touches another number of rows than in the copies
   */
  async write(text: string, ...values: unknown[]): Promise<void> {
    const touched = await this.inTables(text, values);
    const wanted = await this.inCopies(text, values);
    expectRows(text, touched, wanted);
  }

  /**
   * Inserts rows that have the same columns; what these leave to the database is copied too.
   *
   * @throws {@link SilentFailure} unless it inserts so many
   */
  async insert(
    table: TenantTable,
    rows: readonly Row[],
    { conflict = '', expected = rows.length } = {},
  ): Promise<void> {
    const { text, values } = this.insertStatement(table, rows, true);
    const all = COLUMNS[table].join(', ');
    const inserted = await this.inTables(
      `with new_rows as (${text} ${conflict} returning ${all})
       insert into ${this.author.shadow}.${table} (${all}) select ${all} from new_rows`,
      values,
    );
    expectRows(`insert into ${table}`, inserted, expected);
  }

  /**
   * Inserts a row or updates the existing one.
   *
   * The old application names the key. The swap replaces that key, so the new application names
   * none: it inserts unless any key is taken, and then updates.
   */
  async upsert(
    table: TenantTable,
    key: string,
    row: Row,
    changed: string[],
  ): Promise<void> {
    const list = changed.map(column => `${column} = excluded.${column}`);
    const upsert = this.insertStatement(table, [row]);
    const text = `${upsert.text} on conflict (${key}) do update set ${list}`;
    if (this.tenantId === undefined) {
      await this.write(text, ...upsert.values);
      return;
    }
    const insert = this.insertStatement(table, [row], true);
    const inserted = await this.inTables(
      `${insert.text} on conflict do nothing`,
      insert.values,
    );
    const updates = changed.map((column, index) => `${column} = $${index + 2}`);
    const updated = inserted
      ? 0
      : await this.inTables(
          `update {${table}} set ${updates} where ${key} = $1 {scope}`,
          [row[key], ...changed.map(column => row[column])],
        );
    await this.inCopies(text, upsert.values);
    expectRows(`upsert into ${table}`, inserted + updated, 1);
  }

  /** Reads from the copies. */
  async read(text: string, ...values: unknown[]): Promise<Row[]> {
    return (await this.session.query(this.ofCopies(text), values)).rows;
  }

  /** Some of the entities that only this writer touches. */
  async pick(count = 1, condition = 'true'): Promise<Row[]> {
    return this.read(
      `select entity_id, entity_ref, entity_kind, entity_namespace, entity_name from {entities}
        where ${this.author.own} and ${condition}
        order by md5(entity_id::text || $1) limit ${count}`,
      this.random.hex(8),
    );
  }

  async countOwn(): Promise<number> {
    const [{ count }] = await this.read(
      `select count(*)::text as count from {entities} where ${this.author.own}`,
    );
    return Number(count);
  }

  /** Does a part of the transaction that is taken back afterwards. */
  async takenBack(work: () => Promise<void>): Promise<void> {
    await this.session.query('savepoint part');
    await work();
    await this.session.query('rollback to savepoint part');
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
    await this.session.query('savepoint refused');
    try {
      await work();
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== code) {
        throw error;
      }
      await this.session.query('rollback to savepoint refused');
      return;
    }
    throw new SilentFailure(`A constraint was violated without ${code}`);
  }

  /** Keeps the transaction open, with all the locks that it has. */
  async hold(atLeast: number, atMost: number): Promise<void> {
    await sleep(atLeast + this.random.below(Math.max(1, atMost - atLeast)));
  }

  private get tenantId(): string | undefined {
    return this.session.application.tenantId;
  }

  /** Runs a statement as the application does, which knows its tenant or none. */
  private async inTables(text: string, values: unknown[]): Promise<number> {
    const { tenantId } = this;
    const isScoped = tenantId !== undefined && text.includes('{scope}');
    const { rowCount } = await this.session.query(
      text
        .replace(/\{(entities|relations|refresh_state)\}/g, '$1')
        .replace(
          '{scope}',
          isScoped ? `and tenant_id = $${values.length + 1}` : '',
        ),
      isScoped ? [...values, tenantId] : values,
      this.random.chance(PREPARED_SHARE),
    );
    return rowCount ?? 0;
  }

  private async inCopies(text: string, values: unknown[]): Promise<number> {
    const { rowCount } = await this.session.query(this.ofCopies(text), values);
    return rowCount ?? 0;
  }

  private ofCopies(text: string): string {
    return text
      .replace(
        /\{(entities|relations|refresh_state)\}/g,
        `${this.author.shadow}.$1`,
      )
      .replace('{scope}', '');
  }

  /** @param withTenant - names the tenant, if the application knows one */
  private insertStatement(
    table: TenantTable,
    rows: readonly Row[],
    withTenant = false,
  ): { text: string; values: unknown[] } {
    const tenant =
      withTenant && this.tenantId !== undefined
        ? { tenant_id: this.tenantId }
        : {};
    const values: unknown[] = [];
    const lists = rows.map(
      row =>
        `(${Object.values({ ...tenant, ...row }).map(
          value => `$${values.push(value)}`,
        )})`,
    );
    const columns = Object.keys({ ...tenant, ...rows[0] });
    return {
      text: `insert into {${table}} (${columns}) values ${lists}`,
      values,
    };
  }
}

function expectRows(what: string, touched: number, wanted: number): void {
  if (touched !== wanted) {
    throw new SilentFailure(`${what}: ${touched} rows instead of ${wanted}`);
  }
}
