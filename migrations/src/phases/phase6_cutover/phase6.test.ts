import { createTestDatabases } from '@internal/postgres/testUtils';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { forAllTests, forEachTest } from '../../__testUtils__/forEachTest';
import { engineSchemaOf } from '../../adopt/engine';
import { recordingReporter } from '../../__testUtils__/recordingReporter';
import type { MigrationSettings } from '../../engine/Step';
import { RefusedError, VerificationError } from '../../errors';
import type { Reporter } from '../../Reporter';
import { phase6 } from '.';
import { smokeTests } from './10_smoke_tests';
import { TestApplication } from './__testUtils__/TestApplication';
import type { Misbehaviour, Reply } from './__testUtils__/TestApplication';

const databases = createTestDatabases();

const TOKEN = 'the-token-of-the-operator';

/** Answers one kind of request in a way of its own. */
function replying(method: string, reply: Reply): Misbehaviour {
  return async request => (request.method === method ? reply : undefined);
}

const GHOST = { kind: 'Component', metadata: { name: 'ghost' } };

describe.each(databases.eachSupportedId())('phase 6 on %s', id => {
  const database = forAllTests(() =>
    createCatalogDatabase(databases, id, { phase: 5 }),
  );
  const application = forEachTest(() =>
    new TestApplication(database.client).start(),
  );
  let baseUrl: string;
  beforeEach(() => {
    baseUrl = application.baseUrl;
  });
  afterEach(async () => {
    await database.client.query(
      `delete from tenants where tenant_slug like 'smoke-test-%'`,
    );
  });

  /** Also where the phase was done before. */
  const runCutover = (
    cutover: MigrationSettings['cutover'],
    reporter?: Reporter,
  ) =>
    database.migrate(
      async ({ context }) => {
        await phase6.check?.(context);
        await smokeTests.up(context);
      },
      { settings: { cutover }, reporter },
    );

  /** The tenants besides the default one that are not deleted. */
  const readTenants = async () =>
    (
      await database.client.query(
        `select from tenants where tenant_slug <> 'default' and deleted_at is null`,
      )
    ).rows;

  const failureOf = (token?: string): Promise<Error> =>
    runCutover({ baseUrl, token }).then(
      () => new Error('It did not fail'),
      error => error,
    );

  it('runs the three smoke tests and times a look-up, also where all tables are published', async () => {
    await database.client.query('create publication everything for all tables');
    const reporter = recordingReporter();
    await runCutover({ baseUrl }, reporter);
    expect(reporter.warnings).toEqual([]);
    expect(reporter.infos).toEqual([
      '(1) The default tenant has the existing entities: 100 of them are in the database.',
      expect.stringMatching(
        /^\(2\) .*: "smoke-test-[0-9a-f]{12}" is created\.$/,
      ),
      expect.stringMatching(/^\(3\) .*: none are listed/),
      expect.stringMatching(/^Look-up of an entity.*expected: under 20 ms/),
    ]);
  });

  it('sends what the specification says, and leaves nothing, also of an engine that has started', async () => {
    application.misbehave = async ({ method }, answer) => {
      if (method !== 'POST') {
        return undefined;
      }
      const reply = await answer();
      const { tenant_id: tenantId } = reply.body as { tenant_id: string };
      await database.client.query(
        `create schema ${engineSchemaOf(tenantId)} create table a (b text)`,
      );
      return reply;
    };
    await runCutover({ baseUrl, token: `${TOKEN}\n` });
    const { received } = application;
    const { body } = received[2];
    const slug = body.tenant_slug;
    expect(
      received.map(({ method, path, tenant }) => [method, path, tenant ?? '-']),
    ).toEqual([
      ['GET', '/api/catalog/entities', 'default'],
      ['GET', '/api/catalog/entities', slug],
      ['POST', '/api/tenants', '-'],
      ['GET', '/api/catalog/entities', slug],
      ['DELETE', `/api/tenants/${slug}`, '-'],
    ]);
    expect(received.map(({ authorization }) => authorization)).toEqual(
      Array(5).fill(`Bearer ${TOKEN}`),
    );
    expect(body).toEqual({
      tenant_slug: slug,
      tenant_name: expect.any(String),
    });
    const { rows } = await database.client.query(
      `select tenant_slug from tenants where tenant_slug <> 'default'
        union all select nspname from pg_namespace where nspname ~ '^tenant_'`,
    );
    expect(rows).toEqual([]);
  });

  it('is the phase after the fifth, tests each time, and has an undo', async () => {
    const run = () =>
      database.migrate(migration => migration.runPhase(6), {
        settings: { cutover: { baseUrl } },
      });
    const completed = () =>
      database.migrate(migration => migration.completedPhase());
    await expect(run()).resolves.toBe(true);
    await expect(run()).resolves.toBe(true);
    expect(application.received).toHaveLength(10);
    application.flag = false;
    await expect(run()).rejects.toThrow(/MULTI_TENANCY_ENABLED/);
    await expect(completed()).resolves.toBe(6);
    await database.migrate(migration => migration.undoFrom(smokeTests));
    await expect(completed()).resolves.toBe(5);
  });

  it('asks for the base URL', async () => {
    await expect(runCutover(undefined)).rejects.toThrow(
      /MULTI_TENANCY_ENABLED=true, restart it, and give --base-url/,
    );
  });

  it('notices that the flag is off, and creates nothing', async () => {
    application.flag = false;
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(RefusedError);
    expect(failure.message).toContain('Set MULTI_TENANCY_ENABLED=true');
    expect(application.received.map(({ method }) => method)).not.toContain(
      'POST',
    );
  });

  it.each<[string, Reply, RegExp]>([
    ['nothing', { status: 200, body: [] }, /lists nothing for the default/],
    [
      'an entity of somebody else',
      { status: 200, body: [GHOST] },
      /lists component:default\/ghost for the default tenant/,
    ],
    [
      'a page instead of JSON',
      { status: 200, body: '<html>' },
      /did not answer a list of entities\. Expected the --base-url/,
    ],
    ['a failure', { status: 500 }, /answered 500\. Look into the app/],
  ])('fails where the application lists %s', async (_, reply, message) => {
    application.misbehave = replying('GET', reply);
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(VerificationError);
    expect(failure.message).toMatch(message);
  });

  it.each<[string, Reply, RegExp]>([
    [
      'a tenant that comes before the header',
      { status: 403, body: { error: 'Invalid tenant' } },
      /"Invalid tenant" to X-Tenant-Slug: default/,
    ],
    [
      'missing credentials, without what the application said',
      { status: 401, body: { error: { message: `Illegal token: ${TOKEN}` } } },
      /answered 401\. Set MIGRATION_TOKEN to [^:]*$/,
    ],
    [
      'a redirect',
      { status: 302, headers: { location: 'https://login.test/' } },
      /answered 302\. Expected the --base-url/,
    ],
    ['an application that starts', { status: 503 }, /answered 503\. Look/],
  ])('refuses with %s', async (_, reply, message) => {
    application.misbehave = replying('GET', reply);
    const failure = await failureOf(TOKEN);
    expect(failure).toBeInstanceOf(RefusedError);
    expect(failure.message).toMatch(message);
  });

  it('refuses where nothing listens', async () => {
    await application.close();
    expect((await failureOf()).message).toMatch(
      /GET .* got no answer \(ECONNREFUSED\)/,
    );
  });

  it('notices entities of a new tenant, and deletes that tenant', async () => {
    application.misbehave = async ({ method, tenant }) =>
      method === 'GET' &&
      tenant !== 'default' &&
      (await readTenants()).length > 0
        ? { status: 200, body: [GHOST] }
        : undefined;
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(VerificationError);
    expect(failure.message).toMatch(
      /lists component:default\/ghost for the new tenant/,
    );
    await expect(readTenants()).resolves.toEqual([]);
  });

  it('says how to delete a tenant that stays, and deletes it the next time', async () => {
    application.misbehave = replying('DELETE', { status: 500, body: '' });
    const reporter = recordingReporter();
    await runCutover({ baseUrl }, reporter);
    await expect(readTenants()).resolves.toHaveLength(1);
    application.misbehave = async () => undefined;
    await runCutover({ baseUrl });
    await expect(readTenants()).resolves.toEqual([]);

    application.misbehave = replying('DELETE', { status: 500, body: '' });
    await runCutover({ baseUrl });
    const [statement] =
      /delete from tenants .*;/.exec(reporter.warnings[0]) ?? [];
    await database.client.query(statement!);
    await expect(readTenants()).resolves.toEqual([]);
  });
});
