import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { mockServices } from '@backstage/backend-test-utils';
import {
  changeRole,
  createTestDatabases,
  SINGLE_TENANT_TABLES,
  type TestDatabaseId,
  withClient,
} from '@internal/postgres/testUtils';
import { adopt, migrateTo, status } from 'backstage-catalog-tenancy-migrations';
import type { Client, ClientConfig } from 'pg';
import { DatabaseUnavailableError } from '../pool/errors';
import { DEFAULT_TENANT_ID } from '../tenants/Tenant';
import { startTenancy } from './startTenancy';

const databases = createTestDatabases();

const APP_ROLE = 'portal_app';
const PASSWORD = 'only-for-tests';

/** A backend's services, as far as the startup needs them. */
function servicesFor(
  connection: ClientConfig,
  tenancy: object = { enabled: true },
  settings: object = {},
) {
  const { host, port, user, password, database } = connection;
  const config = mockServices.rootConfig({
    data: {
      backend: {
        database: {
          client: 'pg',
          connection: { host, port, user, password: password as string },
          plugin: { catalog: { connection: { database } } },
          ...settings,
        },
      },
      tenancy: {
        database: { connection: { user: APP_ROLE, password: PASSWORD } },
        ...tenancy,
      },
    },
  });
  const logger = mockServices.rootLogger.mock();
  const lifecycle = mockServices.rootLifecycle.mock();
  return { config, logger, lifecycle };
}

type Services = ReturnType<typeof servicesFor>;

async function shutDown({ lifecycle }: Services): Promise<void> {
  for (const [hook] of lifecycle.addShutdownHook.mock.calls) {
    await hook();
  }
}

function logged({ logger }: Services): string {
  return [...logger.info.mock.calls, ...logger.warn.mock.calls]
    .map(([message]) => message)
    .join('\n');
}

describe.each(databases.eachSupportedId())('the startup on %s', id => {
  const started: Services[] = [];

  afterEach(async () => {
    await Promise.all(started.splice(0).map(shutDown));
  });

  async function start(
    connection: ClientConfig,
    tenancy?: object,
    settings?: object,
  ) {
    const services = servicesFor(connection, tenancy, settings);
    started.push(services);
    return { services, tenancy: await startTenancy(services) };
  }

  it('sets up a fresh database, by one of two processes that start at once', async () => {
    const connection = await createDatabase(id);
    const [one, other] = await Promise.all([
      start(connection),
      start(connection),
    ]);
    for (const { tenancy } of [one, other]) {
      await expect(
        tenancy.pool.query(knex => knex('tenants').select('tenant_id')),
      ).resolves.toEqual([{ tenant_id: DEFAULT_TENANT_ID }]);
    }
    await expect(status({ connection })).resolves.toMatchObject({
      phase: 5,
      next: { command: expect.stringContaining('phase6') },
    });
    expect(logged(one.services) + logged(other.services)).toContain(
      'Setting up',
    );
  });

  it('creates the database as well, and serves with a schema of another name', async () => {
    const present = await createDatabase(id);
    const database = `startup_${process.pid}_${id.toLowerCase()}`;
    const { services, tenancy } = await start(
      { ...present, database },
      { enabled: true, schema: 'elsewhere' },
    );
    await expect(
      tenancy.pool.query(knex => knex('tenants').select('tenant_slug')),
    ).resolves.toEqual([{ tenant_slug: 'default' }]);
    await shutDown(services);
    started.splice(started.indexOf(services), 1);
    await withDatabase(present, client =>
      client.query(`drop database ${database}`),
    );
  });

  it('refuses the schema of the stock catalog, before that has tables and after', async () => {
    const connection = await createDatabase(id);
    const tenancy = { enabled: true, schema: 'public' };
    const refusal =
      /Schema "public" has the tables of Backstage's own catalog.* set 'tenancy.schema'/;
    await expect(start(connection, tenancy)).rejects.toThrow(refusal);
    await withDatabase(connection, client =>
      client.query('create table relations (); create table refresh_state ()'),
    );
    await expect(start(connection, tenancy)).rejects.toThrow(refusal);
    await start(connection);
  });

  it('serves as a login that was granted portal_app, such as an IAM user of Cloud SQL', async () => {
    const connection = await createDatabase(id);
    const user = `service-account_${process.pid}@example.iam`;
    await withDatabase(connection, async client => {
      await changeRole(client, `create role "${user}" login`);
      await client.query(`alter role "${user}" password '${PASSWORD}'`);
      await changeRole(client, `grant ${APP_ROLE} to "${user}"`);
    });
    const { tenancy, services } = await start(connection, {
      enabled: true,
      database: { connection: { user, password: PASSWORD } },
    });
    await expect(
      tenancy.pool.query(knex => knex('tenants').select('tenant_slug')),
    ).resolves.toEqual([{ tenant_slug: 'default' }]);
    expect(logged(services)).not.toContain('is not granted to');
    await shutDown(services);
    await withDatabase(connection, client =>
      client.query(`drop role "${user}"`),
    );
  });

  it('refuses a backend whose catalog is another one than the adopted', async () => {
    const connection = await createDatabase(id);
    await withDatabase(connection, client =>
      client.query(`
        create schema former;
        create table former.refresh_state (
          entity_id text primary key, unprocessed_entity text, location_key text, errors text);
        create table former.final_entities (
          entity_id text primary key, entity_ref text, final_entity text, hash text,
          last_updated_at timestamptz);
        create table former.relations (
          originating_entity_id text, source_entity_ref text, type text, target_entity_ref text);
        create table former.refresh_state_references (
          id bigint, source_entity_ref text, target_entity_ref text)`),
    );
    await adopt({ connection });
    await migrateTo(5, { connection });
    await expect(start(connection)).rejects.toThrow(
      'The catalog in the schema "former" is adopted, and the catalog plugin of this backend works in "public"',
    );
    await start(connection, undefined, {
      knexConfig: { searchPath: ['former'] },
    });
  });

  it('sets up as a login that is no superuser, once one has granted what it asks for', async () => {
    const connection = await createDatabase(id);
    const user = `startup_owner_${process.pid}_${id.toLowerCase()}`;
    const run = (statement: string) =>
      withDatabase(connection, client => changeRole(client, statement));
    await run(`create role ${user} login password '${PASSWORD}'`);
    await run(`grant create on database ${connection.database} to ${user}`);
    const login = { ...connection, user, password: PASSWORD };

    const error: Error = await start(login).catch(e => e);
    expect(error.message).toContain(`${user} may not set up the roles`);
    for (const statement of error.message.match(/^\w.*(?=;$)/gm) ?? []) {
      await run(statement);
    }
    const { tenancy } = await start(login);
    await expect(
      tenancy.pool.query(knex => knex('tenants').select('tenant_slug')),
    ).resolves.toEqual([{ tenant_slug: 'default' }]);
  });

  describe('with the tables of an earlier version', () => {
    const BEFORE_LIMITS = `
      alter table tenancy.tenants drop column concurrency, drop column requests_per_second,
        drop column burst;
      delete from tenancy.tenancy_migrations where name = '05_tenant_limits'`;
    const BEFORE_MEMBERS = `${BEFORE_LIMITS};
      drop table tenancy.tenant_members;
      delete from tenancy.tenancy_migrations where name = '01_tenant_members'`;

    async function createEarlier(earlier: string): Promise<ClientConfig> {
      const connection = await createDatabase(id);
      await migrateTo(5, { connection, createTables: true });
      await withDatabase(connection, client => client.query(earlier));
      return connection;
    }

    it('adds what it lacks, by one of two processes that start at once, and says so', async () => {
      const connection = await createEarlier(BEFORE_MEMBERS);
      const [one, other] = await Promise.all([
        start(connection),
        start(connection),
      ]);
      for (const { tenancy } of [one, other]) {
        await expect(
          tenancy.pool.query(knex => knex('tenant_members').select('*')),
        ).resolves.toEqual([]);
      }
      await expect(status({ connection })).resolves.toMatchObject({
        phase: 5,
      });
      expect(logged(one.services) + logged(other.services)).toContain(
        'Brought the tables of schema "tenancy" up to date: Create the table tenant_members; ' +
          'Add the columns for limits of single tenants to tenants',
      );
    });

    it('serves without what it may not add, and names the command', async () => {
      const connection = await createEarlier(`
        delete from tenancy.tenancy_migrations where name = '15_gin_lists';
        create function public.fail() returns event_trigger language plpgsql as
          $$ begin raise exception 'nobody alters indexes'; end $$;
        create event trigger fail on ddl_command_start
          when tag in ('ALTER INDEX') execute function public.fail()`);
      const { services, tenancy } = await start(connection);
      expect(logged(services)).toMatch(
        /^The tables of schema "tenancy" could not be brought up to date .* run "npx backstage-catalog-tenancy-cli upgrade"$/m,
      );
      await expect(
        tenancy.pool.query(knex => knex('tenants').select('tenant_slug')),
      ).resolves.toEqual([{ tenant_slug: 'default' }]);
    });

    it('goes on with a set-up that was stopped', async () => {
      const connection = await createEarlier(
        `${BEFORE_MEMBERS}; drop table tenancy.tenancy_ready;
         delete from tenancy.tenancy_migrations where name = '5_97_mark_ready'`,
      );
      const { tenancy } = await start(connection);
      await expect(
        tenancy.pool.query(knex => knex('tenant_members').select('*')),
      ).resolves.toEqual([]);
    });
  });

  describe('of the tenants that nobody enters', () => {
    const startWithTenants = async (tenancy: object) => {
      const connection = await createDatabase(id);
      await migrateTo(5, { connection, createTables: true });
      await withDatabase(connection, client =>
        client.query(
          `insert into tenancy.tenants (tenant_slug, tenant_name, deleted_at)
           values ('acme', 'Acme', null), ('globex', 'Globex', null), ('gone', 'Gone', now());
           insert into tenancy.tenant_members (tenant_id, principal, role, created_by)
           select tenant_id, 'user:default/jane', 'member', 'x' from tenancy.tenants
            where tenant_slug = 'acme'`,
        ),
      );
      const { services } = await start(connection, {
        enabled: true,
        ...tenancy,
      });
      return services.logger.warn.mock.calls.flat().join('\n');
    };

    it('warns, since membership is required', async () => {
      await expect(startWithTenants({})).resolves.toMatch(
        /1 tenant has no members \(globex\).*tenancy\.admins.*PUT \/api\/tenants/,
      );
    });
  });

  describe('with entities that are not migrated', () => {
    let connection: ClientConfig;

    beforeAll(async () => {
      connection = await createDatabase(id);
      await withDatabase(connection, client =>
        client.query(SINGLE_TENANT_TABLES.join(';\n')),
      );
      await migrateTo(3, { connection });
      await withDatabase(connection, client =>
        client.query(
          `insert into tenancy.entities
             (entity_ref, entity_kind, entity_name, final_entity, hash)
           values ('component:default/a', 'component', 'a', '{}', '')`,
        ),
      );
    });

    it('names the phase and the next command, and migrates nothing', async () => {
      // Of the tables the names alone: rows and bytes are estimates, which move.
      const layout = async () => {
        const { rows } = await withDatabase(connection, client =>
          client.query(
            'select name from tenancy.tenancy_migrations order by 1',
          ),
        );
        return { ...(await status({ connection })), steps: rows };
      };
      const before = await layout();
      await expect(start(connection)).rejects.toThrow(
        /not migrated: phase 3 is complete.*npx backstage-catalog-tenancy-cli phase4.*MULTI_TENANCY_ENABLED=false/,
      );
      await expect(layout()).resolves.toEqual(before);
    });

    it('does not take a user who may not look for proof that there are none', async () => {
      const user = `startup_${process.pid}_${id.toLowerCase()}`;
      await withDatabase(connection, client =>
        client.query(`create role ${user} login password '${PASSWORD}'`),
      );
      await expect(
        start({ ...connection, user, password: PASSWORD }),
      ).rejects.toThrow(
        /not migrated: .*Next: npx backstage-catalog-tenancy-cli status/,
      );
    });
  });

  describe('with the flag off', () => {
    it('creates nothing, and keeps no connection', async () => {
      const connection = await createDatabase(id);
      const { services } = await start(connection, { enabled: 'TRUE' });
      await withDatabase(connection, async client => {
        const { rows } = await client.query(
          `select (select count(*) from pg_namespace where nspname = 'tenancy')::int as schemas,
                  (select count(*) from pg_stat_activity
                    where datname = current_database()
                      and backend_type = 'client backend'
                      and application_name <> 'startup test')::int as sessions`,
        );
        expect(rows).toEqual([{ schemas: 0, sessions: 0 }]);
      });
      expect(logged(services)).toContain('Multi-tenancy is off');
      expect(services.logger.warn).toHaveBeenCalledWith(
        expect.stringMatching(/tenancy\.enabled.* is "TRUE".* Expected "true"/),
      );
    });

    it('does not check the database user', async () => {
      const connection = await createDatabase(id);
      await expect(
        start(connection, {
          enabled: false,
          database: { connection: { user: 'nobody', password: 'wrong' } },
        }),
      ).resolves.toBeDefined();
    });
  });

  describe('fails with one clear error', () => {
    let connection: ClientConfig;

    beforeAll(async () => {
      connection = await createDatabase(id);
      await migrateTo(5, { connection, createTables: true });
    });

    it('where the application connects as the catalog does', async () => {
      await expect(
        start(connection, { enabled: true, database: undefined }),
      ).rejects.toThrow(
        /'postgres' is that of the catalog's own database, not portal_app, and is a superuser: connect as portal_app: set tenancy\.database\.connection\.user and \.password \(.*TENANCY_POSTGRES_USER/,
      );
    });

    it('where it connects as the login that migrated, which is not told to alter that', async () => {
      const login = `startup_login_${process.pid}_${id.toLowerCase()}`;
      await withDatabase(connection, client =>
        client.query(
          `create role ${login} login inherit password '${PASSWORD}';
           grant portal_admin to ${login};
           grant usage on schema tenancy to ${login}`,
        ),
      );
      try {
        const error = await start(
          { ...connection, user: login, password: PASSWORD },
          { enabled: true, database: undefined },
        ).catch(e => e);
        expect(error.message.split('\n- ').slice(1)).toEqual([
          expect.stringMatching(
            new RegExp(
              `^The database user '${login}' is that of the catalog's own database, not portal_app, ` +
                'and inherits portal_admin: connect as portal_app: set tenancy\\.database\\.connection\\.user',
            ),
          ),
        ]);
        expect(error.message).not.toMatch(/alter role|noinherit/);
      } finally {
        await withDatabase(connection, client =>
          client.query(`drop owned by ${login}; drop role ${login}`),
        );
      }
    });

    it('where portal_app can’t log in', async () => {
      const error = await start(connection, {
        enabled: true,
        database: { connection: { user: APP_ROLE, password: 'wrong' } },
      }).catch(e => e);
      expect(error.message).toMatch(
        /user 'portal_app'.*tenancy\.database\.connection/,
      );
      expect(error.message).not.toContain('wrong');
    });

    it('where portal_app may not connect, or finds no session left', async () => {
      const other = await createDatabase(id);
      await migrateTo(5, { connection: other, createTables: true });
      await withDatabase(other, client =>
        client.query(
          `revoke connect on database ${other.database} from public`,
        ),
      );
      await expect(start(other)).rejects.toThrow(
        /'portal_app', cannot be used \(42501\): grant CONNECT on it/,
      );
      const user = `startup_limit_${process.pid}_${id.toLowerCase()}`;
      await withDatabase(connection, client =>
        changeRole(
          client,
          `create role ${user} login connection limit 0 password '${PASSWORD}'`,
        ),
      );
      await expect(
        start(connection, {
          enabled: true,
          database: { connection: { user, password: PASSWORD } },
        }),
      ).rejects.toThrow(
        /cannot be used \(53300\): it has no session left: raise/,
      );
    });

    it('where the database can’t be reached, which names no address', async () => {
      const error = await start({ ...connection, port: 1 }).catch(e => e);
      expect(error.message).toMatch(
        /^The database of the catalog cannot be used/,
      );
      expect(error.message).not.toContain(String(connection.host));
    });

    it('where the database accepts a connection and does not answer', async () => {
      const silent = createServer().listen(0, 'localhost');
      try {
        await once(silent, 'listening');
        const { port } = silent.address() as AddressInfo;
        const error = await start({
          ...connection,
          host: 'localhost',
          port,
        }).catch(e => e);
        expect(error.message).toMatch(
          /^The database of the catalog cannot be used \(no answer in time\)/,
        );
      } finally {
        silent.close();
      }
    });
  });
});

describe('the startup without PostgreSQL', () => {
  const start = (enabled: boolean) => {
    const services = servicesFor({});
    const config = mockServices.rootConfig({
      data: {
        backend: { database: { client: 'better-sqlite3' } },
        tenancy: { enabled },
      },
    });
    return startTenancy({ ...services, config });
  };

  it('fails with the flag on', async () => {
    await expect(start(true)).rejects.toThrow(
      /need PostgreSQL.*'better-sqlite3'/,
    );
  });

  it('goes on with the flag off, as if there were no tenancy', async () => {
    const { pool } = await start(false);
    await expect(pool.query(knex => knex('tenants'))).rejects.toThrow(
      DatabaseUnavailableError,
    );
    await pool.close();
  });
});

async function createDatabase(id: TestDatabaseId): Promise<ClientConfig> {
  const knex = await databases.init(id);
  const connection: ClientConfig = {
    ...knex.client.config.connection,
    // Knex hides it from enumeration.
    password: knex.client.config.connection.password,
  };
  await knex.destroy();
  await withDatabase(connection, client => ensureAppRole(client));
  return connection;
}

function withDatabase<T>(
  connection: ClientConfig,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  return withClient({ ...connection, application_name: 'startup test' }, use);
}

/** As whoever runs the server does it: portal_app belongs to all its databases. */
async function ensureAppRole(client: Client): Promise<void> {
  await changeRole(client, `create role ${APP_ROLE} login noinherit`);
  await changeRole(client, `alter role ${APP_ROLE} password '${PASSWORD}'`);
}
