import { Client, DatabaseError } from 'pg';
import type { QueryResult } from 'pg';
import { scoped } from './application';
import type { Application, Statement } from './application';

// The server shuts down, crashes, starts, or has closed the connection.
const CODES_OF_LOSS = /^(57P0[123]|08)/;

/** The connection of one writer, logged in as one version of the application. */
export class Session {
  static async connect(
    application: Application,
    writer: string,
  ): Promise<Session> {
    const client = new Client({
      ...application.login,
      application_name: `${application.name} application, ${writer}`,
    });
    const session = new Session(client, application);
    try {
      await client.connect();
    } catch (error) {
      await session.close();
      throw error;
    }
    return session;
  }

  /** When the server answered last, in milliseconds of `Date.now()`. */
  answeredAt = Date.now();
  private lost = false;
  private readonly names = new Map<string, string>();

  private constructor(
    private readonly client: Client,
    readonly application: Application,
  ) {
    // The query at work fails as well, and that is what counts.
    client.on('error', () => {
      this.lost = true;
    });
    client.on('end', () => {
      this.lost = true;
    });
  }

  /**
   * @param prepared - keeps the statement prepared on the server by a name, and
   *   uses what was prepared whenever the same text comes again
   */
  async query(statement: Statement, prepared = false): Promise<QueryResult> {
    const { text, values } = scoped(this.application, statement);
    const name = prepared ? this.nameOf(text) : undefined;
    const result = await this.client.query({ name, text, values });
    this.answeredAt = Date.now();
    return result;
  }

  get isLost(): boolean {
    return this.lost;
  }

  /** Whether an error means that the connection is gone. */
  isLostBy(error: unknown): boolean {
    this.lost ||=
      error instanceof DatabaseError && CODES_OF_LOSS.test(error.code ?? '');
    return this.lost;
  }

  /** Ends a transaction; `false` if the connection is gone. */
  async rollBack(): Promise<boolean> {
    try {
      await this.client.query('rollback');
    } catch {
      this.lost = true;
    }
    return !this.lost;
  }

  async close(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }

  private nameOf(text: string): string {
    const name = this.names.get(text) ?? `statement_${this.names.size}`;
    this.names.set(text, name);
    return name;
  }
}
