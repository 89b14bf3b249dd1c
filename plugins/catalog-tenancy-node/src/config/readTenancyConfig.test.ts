import { ConfigReader } from '@backstage/config';
import type { JsonObject } from '@backstage/types';
import { readTenancyConfig } from './readTenancyConfig';

const read = (tenancy?: JsonObject, environment: NodeJS.ProcessEnv = {}) =>
  readTenancyConfig(new ConfigReader({ tenancy }), environment);

describe('The configuration of tenancy', () => {
  it('has the defaults of the specification', () => {
    expect(read()).toEqual({
      enabled: false,
      schema: 'tenancy',
      jwtSecrets: [],
      requireMatchingToken: false,
      baseDomains: [],
      sharedPlugins: [],
      membership: 'required',
      membershipOfDefault: 'everyone',
      connection: {},
      pool: {
        max: 100,
        idleTimeoutMs: 30_000,
        connectionTimeoutMs: 2_000,
        statementTimeoutMs: 30_000,
      },
      limits: {
        concurrency: 5,
        concurrencyBesideOthers: 2,
        queue: 500,
        queueTimeoutMs: 10_000,
      },
      maxDecisionAgeMs: 1_000,
      audit: { keepDays: 90, minSeverity: 'medium' },
    });
  });

  it('derives what a tenant may have under way from the size of the pool', () => {
    const limits = (max: number, given?: JsonObject) =>
      read({ database: { pool: { max } }, limits: given }).limits;
    expect(limits(10)).toMatchObject({ concurrency: 2, queue: 200 });
    expect(limits(1)).toMatchObject({ concurrency: 2, queue: 200 });
    expect(limits(199)).toMatchObject({ concurrency: 9, queue: 900 });
    expect(limits(199, { concurrency: 5 })).toMatchObject({
      concurrency: 5,
      queue: 500,
    });
  });

  it('may bound how many requests a tenant sends', () => {
    expect(read({ limits: {} }).rateLimits).toBeUndefined();
    expect(read({ limits: { requestsPerSecond: '50' } }).rateLimits).toEqual({
      requestsPerSecond: 50,
      burst: 50,
    });
    expect(
      read({ limits: { requestsPerSecond: 50, burst: 200 } }).rateLimits,
    ).toEqual({ requestsPerSecond: 50, burst: 200 });
  });

  it('may say all of it', () => {
    const connection = {
      host: 'database.example.com',
      port: '6432',
      user: 'portal_app',
      password: 'a password',
      database: 'catalog',
      ssl: { rejectUnauthorized: true },
    };
    expect(
      read({
        enabled: 'true',
        schema: 'public',
        jwtSecret: 'a secret',
        requireMatchingToken: true,
        baseDomains: ['Portal.Example.com', 'localhost'],
        plugins: { shared: ['my-events', 'my-news'] },
        membership: 'open',
        membershipOfDefault: 'members',
        database: {
          connection,
          pool: {
            max: 5,
            idleTimeoutMs: '10',
            connectionTimeoutMs: 20,
            statementTimeoutMs: 40,
          },
        },
        limits: {
          concurrency: '3',
          concurrencyBesideOthers: '2',
          queue: 0,
        },
        permissions: { maxDecisionAgeMs: '0' },
        audit: {
          keepDays: '30',
          minSeverity: 'low',
          webhook: { url: 'https://siem.example/x', secret: 's' },
        },
      }),
    ).toEqual({
      enabled: true,
      schema: 'public',
      jwtSecrets: ['a secret'],
      requireMatchingToken: true,
      baseDomains: ['portal.example.com', 'localhost'],
      sharedPlugins: ['my-events', 'my-news'],
      membership: 'open',
      membershipOfDefault: 'members',
      connection: { ...connection, port: 6432 },
      pool: {
        max: 5,
        idleTimeoutMs: 10,
        connectionTimeoutMs: 20,
        statementTimeoutMs: 40,
      },
      limits: {
        concurrency: 3,
        concurrencyBesideOthers: 2,
        queue: 0,
        queueTimeoutMs: 10_000,
      },
      maxDecisionAgeMs: 0,
      audit: {
        keepDays: 30,
        minSeverity: 'low',
        webhook: { url: 'https://siem.example/x', secret: 's' },
      },
    });
  });

  it('may have a replica, whose answers are no older than five seconds', () => {
    const replica = (value: JsonObject) =>
      read({ database: { replica: value } }).replica;
    expect(
      replica({ connection: { host: 'replica.example.com', port: '5433' } }),
    ).toEqual({
      connection: { host: 'replica.example.com', port: 5433 },
      maxStalenessMs: 5_000,
    });
    expect(
      replica({ connection: { port: 5433 }, maxStalenessMs: '200' }),
    ).toMatchObject({ maxStalenessMs: 200 });
    // Placeholders of the environment that were left empty.
    expect(replica({ connection: {}, maxStalenessMs: 200 })).toBeUndefined();
    expect(read().replica).toBeUndefined();
  });

  it('goes by the environment only where the key is absent', () => {
    const environment = { MULTI_TENANCY_ENABLED: 'true', JWT_SECRET: 'theirs' };
    expect(
      read({ enabled: 'false', jwtSecret: 'ours' }, environment),
    ).toMatchObject({ enabled: false, jwtSecrets: ['ours'] });
    expect(read({}, environment)).toMatchObject({
      enabled: true,
      jwtSecrets: ['theirs'],
    });
    expect(read({}, { JWT_SECRET: '' }).jwtSecrets).toEqual([]);
    expect(read({ jwtSecret: ['new', '', 'old'] }, environment)).toMatchObject({
      jwtSecrets: ['new', 'old'],
    });
  });

  it.each<[JsonObject, string]>([
    [{ limits: 5 }, 'tenancy.limits is 5. Expected keys and values'],
    [
      { database: { connection: { port: 'x' } } },
      'tenancy.database.connection.port is "x". Expected a whole number from 1 to 65535',
    ],
    [{ enabled: 1 }, 'tenancy.enabled is 1. Expected "true", or another word'],
    [{ schema: '' }, 'tenancy.schema is "". Expected a text of 1 to 63 bytes'],
    [{ schema: 'é'.repeat(32) }, 'Expected a text of 1 to 63 bytes'],
    [
      { requireMatchingToken: 'yes' },
      'tenancy.requireMatchingToken is "yes". Expected true or false',
    ],
    [{ baseDomains: 'a.b' }, 'tenancy.baseDomains is "a.b". Expected a list'],
    [{ baseDomains: ['a.b', '.c'] }, 'tenancy.baseDomains.1 is ".c". Expected'],
    [{ plugins: ['devtools'] }, 'Expected keys and values'],
    [
      { plugins: { shared: ['my-news', '/api/app'] } },
      'tenancy.plugins.shared.1 is "/api/app". Expected the id of a plugin',
    ],
    [
      { plugins: { shared: ['my-news', 'devtools'] } },
      'tenancy.plugins.shared lists devtools',
    ],
    [
      { membershipOfDefault: true },
      'tenancy.membershipOfDefault is true. Expected "everyone" or "members".',
    ],
    [
      { database: { pool: { max: 0 } } },
      'tenancy.database.pool.max is 0. Expected a whole number from 1 to 10000',
    ],
    [
      { limits: { concurrency: 2, concurrencyBesideOthers: 3 } },
      'tenancy.limits.concurrencyBesideOthers is 3. Expected no more than tenancy.limits.concurrency, which is 2',
    ],
    [
      { limits: { burst: 5 } },
      'tenancy.limits.burst is 5, but tenancy.limits.requestsPerSecond is not set',
    ],
    [
      { database: { replica: { connection: { user: 'reader' } } } },
      'tenancy.database.replica.connection leads to the primary. Expected at least one of host, port, database and instance.',
    ],
  ])('refuses %j', (tenancy, message) => {
    expect(() => read(tenancy)).toThrow(message);
    expect(() => read(tenancy)).toThrow(
      expect.objectContaining({ name: 'InputError' }),
    );
  });

  it.each<[JsonObject, string, string]>([
    [
      { membershipOfDefualt: 'members' },
      'membershipOfDefualt',
      'membershipOfDefault',
    ],
    [{ plugins: { share: [] } }, 'plugins.share', 'shared'],
    [
      { database: { replica: { connection: { pasword: 'hidden' } } } },
      'database.replica.connection.pasword',
      'password',
    ],
    [{ toString: true }, 'toString', 'plugins'],
  ])('refuses the unknown key in %j', (tenancy, unknown, known) => {
    expect(() => read(tenancy)).toThrow(
      new RegExp(
        `^The configuration tenancy.${unknown} is unknown. Expected one of: .*\\b${known}\\b`,
      ),
    );
    expect(() => read(tenancy)).not.toThrow('hidden');
  });

  it('leaves keys of the engines to their module', () => {
    expect(() =>
      read({
        engines: { any: 1 },
        plugins: { pool: { any: 1 } },
        tenants: { acme: { any: 1 } },
      }),
    ).not.toThrow();
  });

  it.each<[string, JsonObject]>([
    ['jwtSecret', { jwtSecret: { key: 'hidden' } }],
    ['jwtSecret.1', { jwtSecret: ['hidden', 1] }],
    ['jwtSecret', { jwtSecret: [''] }],
    [
      'database.connection.password',
      { database: { connection: { password: { $hidden: 1 } } } },
    ],
    ['database.connection', { database: { connection: 'pg://:hidden@host' } }],
    [
      'audit.webhook.url',
      { audit: { webhook: { url: 'https://a:hidden@b' } } },
    ],
    [
      'database.connection.ssl',
      { database: { connection: { ssl: 'hidden' } } },
    ],
  ])(
    'refuses a tenancy.%s of the wrong form, and does not show it',
    (key, value) => {
      expect(() => read(value)).toThrow(
        `The configuration tenancy.${key} is not valid. Expected`,
      );
      expect(() => read(value)).not.toThrow('hidden');
    },
  );
});
