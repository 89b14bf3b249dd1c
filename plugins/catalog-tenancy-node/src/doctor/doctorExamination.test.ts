import { ConfigReader } from '@backstage/config';
import type { JsonObject } from '@backstage/types';
import {
  APPLICATION,
  createTenancyDatabase,
} from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { DoctorFinding } from 'backstage-catalog-tenancy-migrations';
import { Client, type ClientConfig } from 'pg';
import { doctorExamination } from './doctorExamination';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('the doctor on %s', id => {
  let connection: ClientConfig;
  let client: Client;

  beforeAll(async () => {
    connection = await createTenancyDatabase(databases, id);
    client = new Client(connection);
    await client.connect();
  });
  afterAll(() => client.end());

  async function examine(
    tenancy: JsonObject = {},
    ofServer: JsonObject = {},
  ): Promise<DoctorFinding[]> {
    const { host, port, user, password, database } = connection;
    return doctorExamination(
      new ConfigReader({
        backend: {
          database: {
            client: 'pg',
            connection: {
              host: String(host),
              port: Number(port),
              user: String(user),
              password: String(password),
              ...ofServer,
            },
            plugin: { catalog: { connection: { database: String(database) } } },
          },
        },
        tenancy: {
          enabled: true,
          database: { connection: { ...APPLICATION } },
          ...tenancy,
        },
      }),
    );
  }

  const wrong = (findings: DoctorFinding[]) =>
    findings.filter(({ level }) => level !== 'ok');

  it('finds nothing in a database that is as it should be', async () => {
    const findings = await examine();
    expect(wrong(findings)).toEqual([]);
    expect(findings.map(({ subject }) => subject)).toEqual([
      'configuration',
      'database',
      'tables',
      'login',
      'isolation',
      'adoption',
      'members',
    ]);
  });

  it('names a key that nobody knows, and looks no further', async () => {
    expect(await examine({ membershp: 'open' })).toEqual([
      {
        subject: 'configuration',
        level: 'failure',
        message: expect.stringContaining(
          'tenancy.membershp is unknown. Expected one of: ',
        ),
      },
    ]);
  });

  it('cannot look where the database does not answer', async () => {
    expect(wrong(await examine({}, { port: 1 }))).toEqual([
      {
        subject: 'database',
        level: 'unknown',
        message: expect.stringContaining('ECONNREFUSED'),
      },
    ]);
  });

  it('says how a user is given its password', async () => {
    const connect = { ...APPLICATION, password: 'wrong' };
    expect(wrong(await examine({ database: { connection: connect } }))).toEqual(
      [
        {
          subject: 'login',
          level: 'failure',
          message: expect.stringContaining('give the user a password'),
        },
      ],
    );
  });

  it.each<[string, string, string, RegExp]>([
    [
      'a policy that is not forced',
      'alter table tenancy.entities no force row level security',
      'alter table tenancy.entities force row level security',
      /run "alter table .*entities force row level security"/,
    ],
    [
      'a right to a partition',
      'grant select on tenancy.entities_catch_all to portal_app',
      'revoke select on tenancy.entities_catch_all from portal_app',
      /run "revoke select on table .*entities_catch_all from portal_app"/,
    ],
  ])('finds %s, and what to run', async (_, breaks, mends, run) => {
    await client.query(breaks);
    try {
      expect(wrong(await examine())).toEqual([
        {
          subject: 'isolation',
          level: 'failure',
          message: expect.stringMatching(run),
        },
      ]);
    } finally {
      await client.query(mends);
    }
    expect(wrong(await examine())).toEqual([]);
  });

  it('warns of indexes in the order of another collation, and of no statistics, until what it says has run', async () => {
    const { database } = connection;
    await client.query(
      `update pg_database set datcollversion = '0' where datname = current_database();
       create table tenancy.large with (autovacuum_enabled = false) as
       select repeat('x', 1000) from generate_series(1, 1100)`,
    );
    const found = wrong(await examine());
    expect(found).toMatchObject(
      Array(2).fill({ subject: 'isolation', level: 'warning' }),
    );
    expect(found[1].message).toBe(
      'The server has no statistics of tenancy.large, as after pg_upgrade, so that reads are slow: run "analyze".',
    );
    expect(found[0].message).toMatch(
      `run "reindex database concurrently ${database}", "alter database ${database} refresh collation version".`,
    );
    await client.query(
      `alter database ${database} refresh collation version; analyze`,
    );
    expect(wrong(await examine())).toEqual([]);
  });

  it('says which command ends the end of an adoption that was stopped', async () => {
    await client.query(
      `insert into tenancy.adoption_state (tenant_id, key, value) values
         ('00000000-0000-0000-0000-000000000001', 'engine', '{"schema": "public", "ending": true}')`,
    );
    try {
      expect(wrong(await examine())).toEqual([
        {
          subject: 'adoption',
          level: 'failure',
          message: expect.stringMatching(
            /^The end of the adoption .* Run .* unadopt, /,
          ),
        },
      ]);
    } finally {
      await client.query('delete from tenancy.adoption_state');
    }
  });

  it('warns of tenants without members', async () => {
    await client.query(
      `insert into tenancy.tenants (tenant_slug, tenant_name) values ('acme', 'Acme')`,
    );
    expect(wrong(await examine())).toEqual([
      {
        subject: 'members',
        level: 'warning',
        message: expect.stringContaining('1 tenant has no members (acme)'),
      },
    ]);
  });
});
