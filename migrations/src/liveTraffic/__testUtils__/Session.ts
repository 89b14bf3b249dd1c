import { Client, DatabaseError } from 'pg';
import type { ClientConfig, QueryResult } from 'pg';

/**
 * One version of the application: how it logs in, and whether it knows tenants. The
 * old one does not; the new one sets the tenant of each transaction, and names it in
 * every statement.
 */
export interface Application {
  name: 'old' | 'new';
  login: ClientConfig;
  tenantId?: string;
}

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
    // The running query fails as well, and the writer reports that failure.
    client.on('error', () => {
      this.lost = true;
    });
    client.on('end', () => {
      this.lost = true;
    });
  }

  /**
   * @param prepared - keeps the statement prepared on the server, and reuses it when
   *   the same text comes again
   */
  async query(
    text: string,
    values: unknown[] = [],
    prepared = false,
  ): Promise<QueryResult> {
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

  async rollBack(): Promise<void> {
    try {
      await this.client.query('rollback');
    } catch {
      this.lost = true;
    }
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
