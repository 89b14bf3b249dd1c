import { createTestDatabases } from '@internal/postgres/testUtils';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { RefusedError, VerificationError } from '../../errors';
import {
  describeCutover,
  listen,
  readState,
  readTenants,
  runCutover,
} from './__testUtils__/cutover';
import type {
  TestApplication,
  Misbehaviour,
  Reply,
} from './__testUtils__/TestApplication';

const databases = createTestDatabases({ versions: 'newest' });

const TOKEN = 'the-token-of-the-operator';

/** Answers one kind of request in a way of its own. */
function replying(method: string, reply: Reply): Misbehaviour {
  return async request => (request.method === method ? reply : undefined);
}

/** Answers the list of the default tenant in a way of its own. */
function listing(change: (entities: any[]) => unknown): Misbehaviour {
  return async (request, answer) => {
    if (request.tenant !== 'default') {
      return undefined;
    }
    const { status, body } = await answer();
    return { status, body: change(body as any[]) };
  };
}

const GHOST = { kind: 'Component', metadata: { name: 'ghost' } };

describe.each(databases.eachSupportedId())('failures of phase 6 on %s', id => {
  const suite = describeCutover(databases, id);
  let database: CatalogDatabase;
  let application: TestApplication;
  let baseUrl: string;
  beforeEach(() => {
    database = suite.database();
    application = suite.application();
    baseUrl = suite.baseUrl();
  });

  /** The failure of the smoke tests, after which nothing is recorded. */
  async function failureOf(token?: string): Promise<Error> {
    const failure = await runCutover(database, { baseUrl, token }).then(
      () => new Error('It did not fail'),
      error => error,
    );
    expect(await readState(database)).not.toHaveProperty('smoke_tests');
    return failure;
  }

  it('says what to give where there is no base URL, also in a dry run', async () => {
    await expect(runCutover(database, undefined)).rejects.toThrow(
      /MULTI_TENANCY_ENABLED=true, restart the application, and give --base-url/,
    );
    await expect(
      runCutover(database, undefined, { print: () => undefined }),
    ).rejects.toThrow(RefusedError);
  });

  it('asks for a token where the application asks for credentials', async () => {
    application.misbehave = replying('GET', { status: 401, body: {} });
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(RefusedError);
    expect(failure.message).toContain('Set MIGRATION_TOKEN');
  });

  it('tells of a token that is not accepted, and does not show it', async () => {
    application.misbehave = async ({ authorization }) => ({
      status: 401,
      body: { error: { message: `Illegal token: ${authorization}` } },
    });
    const failure = await failureOf(TOKEN);
    expect(failure.message).toMatch(
      /does not accept the token of MIGRATION_TOKEN.*Illegal token: Bearer \*\*\*/,
    );
  });

  it('notices that the flag is off, and creates nothing', async () => {
    application.flag = false;
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(RefusedError);
    expect(failure.message).toContain('without MULTI_TENANCY_ENABLED=true');
    expect(application.received.map(({ method }) => method)).toEqual(['GET']);
  });

  it('notices an application with the tenants of another database', async () => {
    application.misbehave = replying('GET', {
      status: 403,
      body: { error: 'Invalid tenant' },
    });
    const failure = await failureOf();
    expect(failure.message).toMatch(
      /403 "Invalid tenant" to X-Tenant-Slug: default.*another database or schema/,
    );
  });

  it.each<[string, (entities: any[]) => any[], RegExp]>([
    [
      'an entity that is missing',
      entities => entities.slice(1),
      /Missing in the application: component:default\/service-1\./,
    ],
    [
      'an entity of somebody else',
      entities => [...entities, GHOST],
      /Not in the database: component:default\/ghost\./,
    ],
    [
      'many that are missing',
      () => [],
      /Missing in the application: (component:\S+, ){4}component:\S+ and 185 more\./,
    ],
  ])('finds %s', async (_, change, message) => {
    application.misbehave = listing(change);
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(VerificationError);
    expect(failure.message).toMatch(message);
    await expect(readTenants(database)).resolves.toEqual([]);
  });

  it('compares again where entities come and go', async () => {
    let lists = 0;
    application.misbehave = listing(entities => {
      lists += 1;
      return lists === 1 ? [...entities, GHOST] : entities;
    });
    await runCutover(database, { baseUrl });
    expect(lists).toBe(2);
  });

  it.each<[string, Reply, RegExp]>([
    [
      'a redirect',
      { status: 302, headers: { location: 'https://login.test/?state=1' } },
      /302, a redirect to https:\/\/login\.test\/\. Expected/,
    ],
    [
      'a page instead of JSON',
      { status: 200, body: '<html>\n<title>Portal</title>' },
      /200 with text\/html instead of JSON: "<html> <title>Portal/,
    ],
    [
      'JSON that is no list',
      { status: 200, body: { items: [] } },
      /something else than a list of entities: "\{"items":\[\]\}"/,
    ],
    [
      'a list of something else',
      { status: 200, body: [{ id: 1 }] },
      /Expected an array of objects with kind and metadata\.name/,
    ],
    [
      'a failure of the application',
      { status: 500, body: { error: { message: 'relation gone' } } },
      /answered 500\. Look into the application's log\..*relation gone/,
    ],
    [
      'an application that is not ready',
      { status: 503, body: '' },
      /answered 503: the application is not ready/,
    ],
    [
      'an address without a catalog',
      { status: 404, body: '' },
      /answered 404: there is no such route/,
    ],
    [
      'too many requests',
      { status: 429, body: '' },
      /answered 429: it gets too many requests/,
    ],
  ])('explains %s', async (_, reply, message) => {
    application.misbehave = replying('GET', reply);
    expect((await failureOf()).message).toMatch(message);
  });

  it('explains that the caller may not create tenants', async () => {
    application.misbehave = replying('POST', {
      status: 403,
      body: { error: { name: 'NotAllowedError' } },
    });
    const failure = await failureOf(TOKEN);
    expect(failure).toBeInstanceOf(RefusedError);
    expect(failure.message).toMatch(/POST .* answered 403: .*tenancy\.admins/);
    await expect(readState(database)).resolves.toEqual({});
  });

  it('notices a tenant that was created elsewhere', async () => {
    application.misbehave = replying('POST', { status: 201, body: {} });
    expect((await failureOf()).message).toContain(
      'uses another database or schema',
    );
  });

  it('notices entities of a new tenant, and deletes that tenant', async () => {
    let lists = 0;
    application.misbehave = async ({ method }) => {
      lists += method === 'GET' ? 1 : 0;
      return method === 'GET' && lists === 3
        ? { status: 200, body: [GHOST] }
        : undefined;
    };
    const failure = await failureOf();
    expect(failure).toBeInstanceOf(VerificationError);
    expect(failure.message).toMatch(
      /such as component:default\/ghost\. An instance of it runs without/,
    );
    await expect(readTenants(database)).resolves.toEqual([]);
  });

  it('says how to delete its tenant where the application does not', async () => {
    application.misbehave = replying('DELETE', { status: 404, body: '' });
    const { warn, reporter } = listen();
    await runCutover(database, { baseUrl, token: TOKEN }, { reporter });
    const [slug] = await readTenants(database);
    expect(warn).toEqual([expect.stringContaining(`"${slug}"`)]);
    expect(warn[0]).toContain('answered 404');
    expect(warn[0]).toContain(`DELETE ${baseUrl}/api/tenants/${slug}\n`);
    expect(warn[0]).not.toContain(TOKEN);
    const [statement] = /delete from tenants .*;/.exec(warn[0]) ?? [];
    await database.client.query(statement!);
    await expect(readTenants(database)).resolves.toEqual([]);
  });

  it('does not believe a deletion that did not happen', async () => {
    application.misbehave = replying('DELETE', { status: 204, body: '' });
    const { warn, reporter } = listen();
    await runCutover(database, { baseUrl }, { reporter });
    expect(warn).toEqual([expect.stringContaining('and it is not')]);
  });

  it('deletes the tenant of a run before', async () => {
    application.misbehave = replying('DELETE', { status: 500, body: '' });
    await runCutover(database, { baseUrl });
    await expect(readTenants(database)).resolves.toHaveLength(1);
    application.misbehave = async () => undefined;
    await runCutover(database, { baseUrl });
    await expect(readTenants(database)).resolves.toEqual([]);
  });

  it('warns at its undo of a tenant that is still there', async () => {
    application.misbehave = replying('DELETE', { status: 500, body: '' });
    await runCutover(database, { baseUrl });
    const { warn, reporter } = listen();
    await runCutover(database, undefined, { direction: 'down', reporter });
    expect(warn).toEqual([expect.stringMatching(/"smoke-test-.*" .*stays/)]);
    await expect(readState(database)).resolves.toEqual({});
  });

  it('warns that an empty list shows nothing', async () => {
    await database.client.query('update entities set deleted_at = now()');
    const { warn, reporter } = listen();
    await runCutover(database, { baseUrl }, { reporter });
    expect(warn).toEqual([expect.stringContaining('no live entities')]);
    await database.client.query(
      `update entities set deleted_at = null where final_entity #>> '{metadata,n}' not like '%0'`,
    );
  });
});
