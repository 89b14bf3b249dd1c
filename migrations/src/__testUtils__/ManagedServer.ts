import { Postgres } from '@internal/postgres';
import type { PostgresVersion } from '@internal/postgres';
import { testedVersions, withClient } from '@internal/postgres/testUtils';
import type { ClientConfig, QueryResult } from 'pg';
import { runInProcess } from '../cli/__testUtils__/runCli';

const OPERATOR = { user: 'operator', password: 'only-for-tests' };

// Of a managed service, with a login as such services give it.
const named = process.env.MANAGED_POSTGRES_URL;

/** For `describe.each`: the server of the variable MANAGED_POSTGRES_URL, or each version. */
export function managedServers(
  versions?: 'every',
): (PostgresVersion | 'named')[] {
  return named ? ['named'] : testedVersions({ versions });
}

/**
 * A server as managed services have it: the tests know a login with CREATEROLE and CREATEDB
 * alone. It is one of its own, because on that of other tests portal_admin has BYPASSRLS.
 */
export class ManagedServer {
  static async start(
    version: PostgresVersion | 'named',
  ): Promise<ManagedServer> {
    if (version === 'named') {
      return new ManagedServer(parse(new URL(named!)));
    }
    const postgres = await Postgres.start({ version });
    const { user, password } = OPERATOR;
    await query(
      postgres.connection,
      `create role ${user} login createrole createdb password '${password}'`,
    );
    return new ManagedServer({ ...postgres.connection, ...OPERATOR }, postgres);
  }

  private databases = 0;

  private constructor(
    private readonly operator: ClientConfig,
    private readonly postgres?: Postgres,
  ) {}

  /** How its owner connects to a new database. */
  async createDatabase(): Promise<ClientConfig> {
    this.databases += 1;
    const database = `managed_${process.pid}_${this.databases}`;
    await query(
      { ...this.operator, database: 'postgres' },
      `create database ${database}`,
    );
    return { ...this.operator, database };
  }

  async stop(): Promise<void> {
    await this.postgres?.stop();
  }
}

function parse({ hostname, port, username, password }: URL): ClientConfig {
  return {
    host: hostname,
    port: Number(port || 5432),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
  };
}

/** The rows of the last statement. */
export async function query(
  connection: ClientConfig,
  sql: string,
): Promise<unknown[]> {
  return withClient(connection, async client => {
    const result: QueryResult | QueryResult[] = await client.query(sql);
    return [result].flat().slice(-1)[0].rows;
  });
}

/** Runs a command that has to succeed. */
export async function run(
  connection: ClientConfig,
  ...args: string[]
): Promise<void> {
  const result = await runInProcess(connection, ...args);
  if (result.exitCode !== 0) {
    throw new Error(`${args.join(' ')}: ${result.stderr.slice(-1000)}`);
  }
}

/** What the preflight of a server of ours can't find in order. */
export const CHECKED = ['--backup-completed'];
