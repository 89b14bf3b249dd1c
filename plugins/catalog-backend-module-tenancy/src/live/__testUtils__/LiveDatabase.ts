import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { Client, type QueryResultRow } from 'pg';

const PASSWORD = 'only-for-tests';

interface Login {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
}

/** The database of a stock catalog, which a role of no special rights owns. */
export class LiveDatabase {
  static async create(
    databases: TestDatabases,
    id: TestDatabaseId,
  ): Promise<LiveDatabase> {
    const knex = await databases.init(id);
    const { host, port, user, password, database } =
      knex.client.config.connection;
    const admin = { host, port: Number(port), user, password, database };
    // A role of this database alone: others may be on the same server.
    const engine = { ...admin, user: `engine_${database}`, password: PASSWORD };
    const live = new LiveDatabase(admin, engine);
    await live.query(
      `create role "${engine.user}" login password '${PASSWORD}'`,
    );
    await live.query(`alter database "${database}" owner to "${engine.user}"`);
    return live;
  }

  private constructor(
    /** The operator's login, a superuser. */
    readonly admin: Login,
    /** The login of the stock catalog. */
    readonly engine: Login,
  ) {}

  get url(): string {
    const { host, port, user, password, database } = this.admin;
    return `postgresql://${user}:${encodeURIComponent(
      String(password),
    )}@${host}:${port}/${database}`;
  }

  /** Lends a connection of the superuser's. */
  async use<T>(action: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client(this.admin);
    await client.connect();
    try {
      return await action(client);
    } finally {
      await client.end();
    }
  }

  async query<Row extends QueryResultRow>(
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    return this.use(async client => {
      const { rows } = await client.query<Row>(text, values);
      return rows;
    });
  }
}
