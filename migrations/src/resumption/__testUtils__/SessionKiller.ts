import { waitUntil } from '@internal/postgres/testUtils';
import { Client } from 'pg';

// `pg_stat_activity` shows no more than 1,023 bytes.
const SHOWN = 500;

/**
 * Terminates all sessions of a command in PostgreSQL once it has sent so many
 * statements, and has the server refuse it any other session: what a process leaves
 * behind that is killed between two statements.
 */
export class SessionKiller {
  /** How many statements the command has sent. */
  sent = 0;
  /** Whether it was killed; not where it ended before that. */
  hasKilled = false;
  /** Why it could not be killed, or not there. */
  failure: unknown;

  readonly #admin: Client;
  readonly #databases: string[];
  readonly #spy: jest.SpyInstance;
  #last: { client: Client; text: string } | undefined;
  #killing: Promise<void> | undefined;

  /**
   * @param admin - a session of another database, whose statements do not count
   * @param database - in which no other session is at work; several, if the command uses them
   */
  constructor(options: {
    after: number;
    admin: Client;
    database: string | string[];
  }) {
    const { after, admin, database } = options;
    this.#admin = admin;
    this.#databases = [database].flat();
    const query = Client.prototype.query as (...args: unknown[]) => unknown;
    // How many other databases a command looks into depends on the other tests.
    const beforeQuery = (client: Client, text: string) =>
      client === admin || !this.#databases.includes(`${client.database}`)
        ? undefined
        : this.#count(client, text, after);
    this.#spy = jest.spyOn(Client.prototype, 'query');
    this.#spy.mockImplementation(function counted(
      this: Client,
      ...args: unknown[]
    ) {
      const killed = beforeQuery(this, textOf(args[0]));
      return killed
        ? killed.then(() => query.apply(this, args))
        : query.apply(this, args);
    });
  }

  /** Counts a statement, or resolves when the sessions are ended before it. */
  #count(
    client: Client,
    text: string,
    after: number,
  ): Promise<void> | undefined {
    if (this.sent < after) {
      this.sent += 1;
      this.#last = { client, text };
      return undefined;
    }
    this.#killing ??= this.#end().catch(error => {
      this.failure = error;
    });
    return this.#killing;
  }

  /** Lets the command connect again. */
  async stop(): Promise<void> {
    this.#spy.mockRestore();
    await this.#allowConnections(true);
  }

  async #end(): Promise<void> {
    const { client, text } = this.#last!;
    const { processID: pid } = client as Client & { processID: number };
    let hasEnded = false;
    await waitUntil(`the end of "${text}"`, async () => {
      const sessions = await this.#sessions();
      const session = sessions.find(each => each.pid === pid);
      if (!session) {
        hasEnded = true;
        return true;
      }
      // The server may not have read it yet: it shows the one before.
      return (
        session.state !== 'active' &&
        session.query.trim().startsWith(text.trim().slice(0, SHOWN))
      );
    });
    await this.#allowConnections(false);
    const { rows } = await this.#admin.query<{ pid: number; ended: boolean }>(
      `select pid, pg_terminate_backend(pid) as ended
         from pg_stat_activity where datname = any ($1)`,
      [this.#databases],
    );
    await waitUntil(
      'the sessions to end',
      async () => (await this.#sessions()).length === 0,
    );
    if (!hasEnded && !rows.some(row => row.pid === pid && row.ended)) {
      throw new Error(`The session ${pid} was not terminated`);
    }
    this.hasKilled = true;
  }

  async #allowConnections(allow: boolean): Promise<void> {
    for (const database of this.#databases) {
      await this.#admin.query(
        `alter database ${database} allow_connections ${allow}`,
      );
    }
  }

  async #sessions() {
    const { rows } = await this.#admin.query<{
      pid: number;
      state: string;
      query: string;
    }>(
      `select pid, state, query from pg_stat_activity
        where datname = any ($1) and backend_type = 'client backend'`,
      [this.#databases],
    );
    return rows;
  }
}

function textOf(query: unknown): string {
  return typeof query === 'string' ? query : (query as { text: string }).text;
}
