import { createTestDatabases } from '@internal/postgres/testUtils';
import { mockLogger } from '../__testUtils__/serviceMocks';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../__testUtils__/tenancyDatabase';
import { TenancyStartupError } from './TenancyStartupError';
import { checkDatabase, warningsOfVersion } from './checkDatabase';

const databases = createTestDatabases({ versions: 'every' });

const PASSWORD = 'only-for-tests';

describe.each(databases.eachSupportedId())('the startup check on %s', id => {
  let database: TenancyDatabase;
  let roles = 0;
  const created: string[] = [];
  const undo: string[] = [];

  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
  });

  afterEach(async () => {
    for (const statement of undo.splice(0).reverse()) {
      await database.client.query(statement);
    }
  });

  afterAll(async () => {
    for (const role of created) {
      await database.client.query(`drop owned by ${role}; drop role ${role}`);
    }
    await database.close();
  });

  /** Roles belong to the server, which other tests work on. */
  async function createRole(attributes: string): Promise<string> {
    roles += 1;
    const name = `check_${process.pid}_${id.toLowerCase()}_${roles}`;
    await database.client.query(
      `create role ${name} ${attributes} password '${PASSWORD}'`,
    );
    created.push(name);
    return name;
  }

  /** A user that may do what portal_app may. */
  async function createUser(attributes = 'noinherit'): Promise<string> {
    const user = await createRole(`login ${attributes}`);
    await database.client.query(
      `grant usage on schema tenancy to ${user};
       grant select on tenants, tenant_members, tenant_engines, tenant_invitations, tenant_sign_in,
         tenant_shares, tenant_share_copies, tenant_audit, tenant_usage, entity_terms, entity_parents to ${user};
       grant select, insert, update, delete
          on entities, relations, refresh_state to ${user};`,
    );
    await grantAdmin(user, false);
    return user;
  }

  async function grantAdmin(user: string, inherit: boolean): Promise<void> {
    const options = id === 'POSTGRES_14' ? '' : `with inherit ${inherit}`;
    await change(
      `grant portal_admin to ${user} ${options}`,
      `revoke portal_admin from ${user}`,
    );
  }

  async function check(user: string) {
    const logger = mockLogger();
    const pool = database.createPool({
      connection: { ...database.connection, user, password: PASSWORD },
      limits: { max: 1 },
    });
    await checkDatabase(pool, logger);
    return logger.warn.mock.calls.map(([message]) => message);
  }

  async function findings(user?: string): Promise<string[]> {
    const error = await check(user ?? (await createUser())).catch(e => e);
    expect(error).toBeInstanceOf(TenancyStartupError);
    const [head, ...found] = error.message.split('\n- ');
    expect(head).toMatch(
      /not served(:|, because of what the database lacks:)$/,
    );
    return found;
  }

  /** Changes the database until the end of the test. */
  async function change(statement: string, back: string): Promise<void> {
    await database.client.query(statement);
    undo.push(back);
  }

  it('finds nothing wrong with portal_app', async () => {
    const logger = mockLogger();
    await checkDatabase(database.pool, logger);
    expect(logger.warn).not.toHaveBeenCalled();
  });

  describe('refuses a database user that', () => {
    it('is a superuser', async () => {
      const user = await createRole('login superuser');
      expect(await findings(user)).toEqual([
        expect.stringContaining(`'${user}' is a superuser`),
      ]);
    });

    it('has BYPASSRLS', async () => {
      const user = await createUser('noinherit bypassrls');
      expect(await findings(user)).toEqual([
        expect.stringContaining(`'${user}' has BYPASSRLS`),
      ]);
    });

    it.each([
      'entities',
      'relations',
      'refresh_state',
      'tenants',
      'tenant_members',
      'tenant_engines',
      'engine_leases',
      'engine_status',
    ])('owns %s', async table => {
      const user = await createUser();
      await change(
        `alter table ${table} owner to ${user}`,
        `alter table ${table} owner to portal_admin`,
      );
      expect((await findings(user))[0]).toMatch(`'${user}' owns ${table},`);
    });

    it.each([
      'select on entities_catch_all',
      'delete on relations_tenant_default',
      'select (final_entity) on entities_tenant_default',
      'trigger on refresh_state_catch_all',
    ])('holds %s', async right => {
      const user = await createUser();
      await change(`grant ${right} to ${user}`, `revoke ${right} from ${user}`);
      expect(await findings(user)).toEqual([
        expect.stringMatching(/has rights on (\w+_catch_all|\w+_default) \(/),
      ]);
    });

    it('may TRUNCATE, which no policy governs', async () => {
      const user = await createUser();
      await database.client.query(`grant truncate on relations to ${user}`);
      expect(await findings(user)).toEqual([
        expect.stringContaining('has rights on relations (TRUNCATE), '),
      ]);
    });
  });

  it.each([
    ['insert on entity_terms', 'entity_terms'],
    ['delete on entity_parents', 'entity_parents'],
    ['update (value) on entity_terms', 'entity_terms'],
  ])('refuses a user that may %s', async (right, table) => {
    const user = await createUser();
    await database.client.query(`grant ${right} to ${user}`);
    expect(await findings(user)).toEqual([
      expect.stringContaining(
        `has rights on ${table} (${right
          .split(' ')[0]
          .toLocaleUpperCase('en')}), `,
      ),
    ]);
  });

  it('refuses a database of before the tables that entities are searched by', async () => {
    const user = await createUser();
    await change(
      `alter table entity_terms rename to entity_terms_away;
       alter table entity_parents rename to entity_parents_away`,
      `alter table entity_terms_away rename to entity_terms;
       alter table entity_parents_away rename to entity_parents`,
    );
    expect(await findings(user)).toEqual([
      'There is no entity_terms, entity_parents in schema "tenancy": run ' +
        '"npx backstage-catalog-tenancy-cli upgrade", or ' +
        '"npx backstage-catalog-tenancy-cli phase5" where that is not complete.',
    ]);
  });

  it('refuses a database of before the table by which it notices a rollback', async () => {
    const user = await createUser();
    await change(
      'alter table tenancy_ready rename to tenancy_ready_away',
      'alter table tenancy_ready_away rename to tenancy_ready',
    );
    expect(await findings(user)).toEqual([
      expect.stringContaining('There is no tenancy_ready in schema "tenancy"'),
    ]);
  });

  it('refuses row-level security that hides the registry', async () => {
    await database.client.query(
      'alter table tenants enable row level security',
    );
    undo.push('alter table tenants disable row level security');
    const [found] = await findings();
    expect(found).toContain(
      'Row-level security hides the rows of tenants from the application: run ' +
        '"alter table tenancy.tenants disable row level security"',
    );
  });

  it('refuses a database in which triggers do not fire', async () => {
    const { rows } = await database.client.query(
      'select quote_ident(current_database()) as name',
    );
    const alter = `alter database ${rows[0].name}`;
    await database.client.query(
      `${alter} set session_replication_role = replica`,
    );
    undo.push(`${alter} reset session_replication_role`);
    const [found] = await findings();
    expect(found).toContain('with session_replication_role=replica');
    expect(found).toContain('reset session_replication_role');
  });

  describe.each([
    ...['entities', 'relations', 'refresh_state'],
    ...['entity_terms', 'entity_parents'],
  ])('for %s', table => {
    async function restorePolicy(): Promise<string> {
      const { rows } = await database.client.query<{ condition: string }>(
        `select pg_get_expr(polqual, polrelid) as condition from pg_policy
          where polrelid = '${table}'::regclass and polname = 'tenant_isolation'`,
      );
      const [{ condition }] = rows;
      return `drop policy if exists tenant_isolation on ${table};
        create policy tenant_isolation on ${table} for all
          using (${condition}) with check (${condition})`;
    }

    it('refuses a missing policy', async () => {
      await change(
        `drop policy tenant_isolation on ${table}`,
        await restorePolicy(),
      );
      expect(await findings()).toEqual([
        expect.stringContaining(
          `The policy tenant_isolation on ${table} is missing, or not the one`,
        ),
      ]);
    });

    it.each([
      ['lets everything through', 'for all using (true) with check (true)'],
      ['checks no writes', 'for all using (<condition>) with check (true)'],
      [
        'does not mind a missing tenant',
        `for all using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
           with check (<condition>)`,
      ],
    ])('refuses a policy that %s', async (_name, definition) => {
      const restore = await restorePolicy();
      const condition = /using \((.*)\) with check/.exec(restore)![1];
      await change(
        `drop policy tenant_isolation on ${table};
         create policy tenant_isolation on ${table}
           ${definition.replaceAll('<condition>', condition)}`,
        restore,
      );
      expect(await findings()).toEqual([
        expect.stringContaining(
          `The policy tenant_isolation on ${table} is missing, or not the one`,
        ),
      ]);
    });

    it('refuses row-level security that is not enabled', async () => {
      await change(
        `alter table ${table} disable row level security`,
        `alter table ${table} enable row level security`,
      );
      expect(await findings()).toEqual([
        expect.stringContaining(
          `Row-level security is not enabled on ${table}:`,
        ),
      ]);
    });

    it('refuses a missing FORCE', async () => {
      await change(
        `alter table ${table} no force row level security`,
        `alter table ${table} force row level security`,
      );
      expect(await findings()).toEqual([
        expect.stringContaining(`Row-level security is not forced on ${table}`),
      ]);
    });
  });

  it('tells of everything at once, each with its remedy', async () => {
    const user = await createUser('noinherit bypassrls');
    await change(
      'alter table relations no force row level security',
      'alter table relations force row level security',
    );
    const lines = await findings(user);
    expect(lines).toHaveLength(2);
    lines.forEach(line => expect(line).toMatch(/: (run|let) .+\.$/));
  });

  it('warns of a withheld portal_admin, and says what needs it', async () => {
    const user = await createUser();
    await database.client.query(`revoke portal_admin from ${user}`);
    await expect(check(user)).resolves.toEqual([
      expect.stringMatching(
        /portal_admin is not granted.*\/api\/tenants.*purged/,
      ),
    ]);
  });
});

describe('versions of PostgreSQL with known leaks', () => {
  it.each([
    [140_013, '14.13', 'CVE-2024-10976, CVE-2025-8713', '14.19'],
    [140_018, '14.18', 'CVE-2025-8713', '14.19'],
    [150_008, '15.8', 'CVE-2024-10976, CVE-2025-8713', '15.14'],
    [160_009, '16.9', 'CVE-2025-8713', '16.10'],
    [170_000, '17.0', 'CVE-2024-10976, CVE-2025-8713', '17.6'],
  ])('warns of %d', (version, name, leaks, fixed) => {
    expect(warningsOfVersion(version)).toEqual([
      `PostgreSQL ${name} may show rows past row-level security (${leaks}): ` +
        `update it to ${fixed} or later.`,
    ]);
  });

  it.each([140_019, 140_023, 150_014, 160_010, 170_006, 180_000])(
    'says nothing of %d',
    version => {
      expect(warningsOfVersion(version)).toEqual([]);
    },
  );
});
