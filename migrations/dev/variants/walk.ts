import { execFileSync } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { databaseDump } from '../../src/__testUtils__/databaseDump';
import { seedCatalog } from '../../src/__testUtils__/seed';
import { runInProcess } from '../../src/cli/__testUtils__/runCli';
import { EXIT_CODES } from '../../src/errors';
import type { Variant } from './variants';

const PREFLIGHT = ['--backup-completed', '--allow-missing', 'pg_cron'];
const FEW_ENTITIES = 12;

/** Of a session that looks at a database: nothing that the variant sets for it. */
const OWN_SETTINGS = [
  'search_path=tenancy',
  'statement_timeout=0',
  'lock_timeout=0',
  'idle_session_timeout=0',
  'idle_in_transaction_session_timeout=0',
  'default_transaction_read_only=off',
  'quote_all_identifiers=off',
  'row_security=off',
  'DateStyle=ISO',
  'TimeZone=UTC',
  'standard_conforming_strings=on',
  'extra_float_digits=1',
  'IntervalStyle=postgres',
  'bytea_output=hex',
  'session_replication_role=origin',
]
  .map(setting => `-c ${setting}`)
  .join(' ');

/** What a database holds, in a form that can be compared. */
interface Dump {
  parts: Record<string, unknown>;
  /** The last numbers of sequences. */
  numbers: Map<string, number>;
}

/** A server on which variants are walked. */
export interface Server {
  /** Of a superuser; the database is one that is always there. */
  connection: ClientConfig;
  version: number;
  /** A pg_dump that knows the version, to compare what it writes as well. */
  pgDump?: string;
}

/** Those variants that a version of PostgreSQL knows. */
export function variantsOf(variants: Variant[], version: number): Variant[] {
  return variants.filter(({ since = 0 }) => version >= since);
}

/**
 * Takes variants of a seeded catalog all the way forward and back. Each is a copy of
 * one database, which takes a moment.
 */
export class Walk {
  static async begin(server: Server): Promise<Walk> {
    const walk = new Walk(server);
    await walk.createTemplate();
    return walk;
  }

  private readonly template = `variants_${process.pid}`;
  private copies = 0;

  private constructor(private readonly server: Server) {}

  /** @throws Error which says what is not as it should be */
  async run(variant: Variant): Promise<void> {
    this.copies += 1;
    const database = `${this.template}_${this.copies}`;
    await this.administer(
      `create database ${database} template ${this.template}`,
    );
    const connection = { ...this.server.connection, database };
    try {
      await withClient(connection, client => client.query(variant.given));
      await this.walk(connection, variant);
    } finally {
      await this.administer(`drop database ${database} with (force)`);
    }
  }

  async end(): Promise<void> {
    await this.administer(`drop database if exists ${this.template}`);
  }

  private async walk(
    connection: ClientConfig,
    variant: Variant,
  ): Promise<void> {
    const before = await this.dump(connection);
    const refusedBy = this.refusalOf(variant);
    const preflight = await runInProcess(
      connection,
      'preflight',
      '--json',
      ...PREFLIGHT,
    );
    const { findings = [], error } = parse(preflight.stdout);
    const failures = findings.filter(({ level }) => level === 'failure');
    if (refusedBy) {
      expectEqual(
        { exitCode: preflight.exitCode, checks: namesOf(failures) },
        { exitCode: EXIT_CODES.refused, checks: [refusedBy] },
        'the preflight',
      );
      for (const command of ['phase1', 'all']) {
        const { exitCode } = await runInProcess(
          connection,
          command,
          ...PREFLIGHT,
        );
        expectEqual(
          exitCode,
          EXIT_CODES.refused,
          `the exit code of ${command}`,
        );
      }
      expectSame(before, await this.dump(connection));
      return;
    }
    expectEqual(
      { exitCode: preflight.exitCode, failures, error },
      { exitCode: EXIT_CODES.done, failures: [], error: undefined },
      'the preflight',
    );
    await succeed(connection, 'all', ...PREFLIGHT);
    await succeed(connection, 'verify');
    await succeed(connection, 'rollback', '--to', '0');
    expectSame(before, await this.dump(connection));
  }

  private refusalOf({ refusedBy, refusedUntil }: Variant): string | undefined {
    return this.server.version <= (refusedUntil ?? Infinity)
      ? refusedBy
      : undefined;
  }

  private async dump(connection: ClientConfig): Promise<Dump> {
    const parts: Record<string, unknown> = await withClient(
      connection,
      databaseDump,
    );
    const sequences = parts['more sequences'] as Record<string, unknown>[];
    parts['more sequences'] = sequences.map(each => ({ ...each, last: null }));
    if (this.server.pgDump) {
      parts.pg_dump = this.pgDump(connection, this.server.pgDump);
    }
    return {
      parts,
      numbers: new Map(
        sequences.map(({ name, last }) => [String(name), Number(last)]),
      ),
    };
  }

  private pgDump(connection: ClientConfig, program: string): string[] {
    const { host, port, user, password, database } = connection;
    const env = {
      PGHOST: host,
      PGPORT: String(port),
      PGUSER: user,
      PGPASSWORD: String(password),
      PGDATABASE: database,
      PGOPTIONS: OWN_SETTINGS,
    };
    return (
      execFileSync(
        program,
        ['--schema=tenancy', '--exclude-table=tenancy.tenancy_migration*'],
        {
          encoding: 'utf8',
          maxBuffer: 2 ** 28,
          env: { ...process.env, ...env },
        },
      )
        .split('\n')
        // Numbers are compared apart, and a key of psql is another one in each dump.
        .filter(line => !/^\\(un)?restrict |pg_catalog\.setval\(/.test(line))
        // Rows stand in another order once they were filled.
        .sort()
    );
  }

  private async createTemplate(): Promise<void> {
    await this.administer(`create database ${this.template}`);
    await withClient(
      { ...this.server.connection, database: this.template },
      client => seedCatalog(client, { entities: FEW_ENTITIES }),
    );
  }

  private async administer(statement: string): Promise<void> {
    await withClient(this.server.connection, client => client.query(statement));
  }
}

async function withClient<T>(
  connection: ClientConfig,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ ...connection, options: OWN_SETTINGS });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

async function succeed(
  connection: ClientConfig,
  ...args: string[]
): Promise<void> {
  const { exitCode, stderr } = await runInProcess(connection, ...args);
  if (exitCode !== EXIT_CODES.done) {
    throw new Error(`${args.join(' ')} ended with ${exitCode}:\n${stderr}`);
  }
}

interface Report {
  findings?: { check: string; level: string; message: string }[];
  error?: { message: string };
}

function parse(json: string): Report {
  return json ? JSON.parse(json) : {};
}

function namesOf(findings: { check: string }[]): string[] {
  return [...new Set(findings.map(({ check }) => check))];
}

/**
 * The same in both but for the numbers of sequences, of which the proof of phase 3 takes
 * some for rows that it does not keep: none may come a second time.
 */
function expectSame(before: Dump, after: Dump): void {
  expectEqual(after.parts, before.parts, 'what is there after');
  for (const [name, number] of before.numbers) {
    if ((after.numbers.get(name) ?? 0) < number) {
      throw new Error(`The sequence ${name} has gone back to before ${number}`);
    }
  }
}

/** Says in which of its parts something differs, rather than show all of both. */
function expectEqual(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) {
    return;
  }
  const differences = difference(actual, expected);
  throw new Error(`${what} differs:\n${differences.slice(0, 20).join('\n')}`);
}

function difference(actual: unknown, expected: unknown): string[] {
  if (Array.isArray(actual) && Array.isArray(expected)) {
    const texts = (values: unknown[]) =>
      values.map(each => JSON.stringify(each));
    const [is, was] = [texts(actual), texts(expected)];
    return [
      ...was.filter(each => !is.includes(each)).map(each => `- ${each}`),
      ...is.filter(each => !was.includes(each)).map(each => `+ ${each}`),
    ];
  }
  if (isRecord(actual) && isRecord(expected)) {
    return [...new Set([...Object.keys(actual), ...Object.keys(expected)])]
      .filter(key => !isDeepStrictEqual(actual[key], expected[key]))
      .flatMap(key => [`${key}:`, ...difference(actual[key], expected[key])]);
  }
  return [`- ${JSON.stringify(expected)}`, `+ ${JSON.stringify(actual)}`];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
