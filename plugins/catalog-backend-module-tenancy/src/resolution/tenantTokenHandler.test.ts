import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { DatabaseUnavailableError } from 'backstage-plugin-catalog-tenancy-node';
import type { Knex } from 'knex';
import tenancyFeatures from '../index';
import { outcomeOf } from './__testUtils__/outcomeOf';
import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import type { Answer } from './__testUtils__/send';
import { startAuthenticatedBackend } from './__testUtils__/startAuthenticatedBackend';
import {
  configData,
  type TenantBackend,
} from './__testUtils__/startTenantBackend';
import { seconds, sign } from './__testUtils__/tokens';
import { userToken } from './__testUtils__/userTokens';

const databases = createTestDatabases({ versions: 'newest' });

const HOST = 'portal.example';
const ACME = { tenantSlug: 'acme' };
const ENTRY = {
  type: 'tenant',
  options: {},
  accessRestrictions: [{ plugin: 'catalog' }],
};

// By Backstage, which knows of no tenants.
const UNAUTHENTICATED = /^401 .*AuthenticationError/;

describe('a tenant token as credentials', () => {
  const logger = mockServices.rootLogger.mock();
  const directory = new InMemoryTenants();
  // Where each plugin's auth keeps its keys: no matter on which version.
  const keys: Record<string, Knex> = {};

  beforeAll(async () => {
    keys.catalog = await databases.init('POSTGRES_18');
    keys.auth = await databases.init('POSTGRES_18');
  });

  beforeEach(() => {
    directory.lookups = [];
    directory.failure = undefined;
    logger.warn.mockClear();
  });

  const start = (externalAccess: JsonObject[], tenancy: JsonObject = {}) =>
    startAuthenticatedBackend({
      directory,
      logger,
      keys,
      externalAccess,
      tenancy,
    });

  const callerOf = (answer: Answer) => JSON.parse(answer.text).caller;

  describe('with an entry of type tenant', () => {
    let backend: TenantBackend;
    const withToken = (token: string, headers: Record<string, string> = {}) =>
      backend.get({ host: HOST, authorization: `Bearer ${token}`, ...headers });

    beforeAll(async () => {
      backend = await start([ENTRY]);
    });

    it.each([
      {},
      { 'x-tenant-slug': 'acme' },
      { 'x-tenant-slug': 'unknown' },
      { 'x-tenant-slug': 'Not A Slug' },
      { host: 'unknown.portal.example' },
    ])(
      'a request without credentials gets 401 before any tenant is looked for: %j',
      async headers => {
        expect(
          outcomeOf(await backend.get({ host: HOST, ...headers })),
        ).toMatch(UNAUTHENTICATED);
        expect(directory.lookups).toEqual([]);
      },
    );

    it('counts as a service, in the name and for the entities of the tenant', async () => {
      const answer = await withToken(sign(ACME));
      expect(outcomeOf(answer)).toBe('acme');
      expect(callerOf(answer)).toMatchObject({
        type: 'service',
        subject: 'tenant:acme',
      });
    });

    it.each([
      ['expired', sign({ ...ACME, exp: seconds(-1) })],
      [
        'that pretends to be of a user of Backstage',
        sign(
          { ...ACME, sub: 'user:default/guest', aud: 'backstage' },
          { header: { alg: 'HS256', typ: 'vnd.backstage.user' } },
        ),
      ],
    ])('is refused by Backstage: %s', async (_title, token) => {
      expect(outcomeOf(await withToken(token))).toMatch(UNAUTHENTICATED);
      expect(directory.lookups).toEqual([]);
    });

    it('counts for no tenant that is deleted, or never was: 401', async () => {
      const token = sign({ tenantSlug: 'nobody' });
      expect(outcomeOf(await withToken(token))).toMatch(UNAUTHENTICATED);
    });

    it.each([
      new DatabaseUnavailableError('No connection'),
      new TypeError('Something is wrong here'),
    ])('is neither good nor bad while it cannot be looked up: %s', async e => {
      directory.failure = e;
      expect((await withToken(sign(ACME))).status).toBe(503);
    });

    it('neither authenticates nor decides in a cookie', async () => {
      const cookie = `backstage-auth=${sign({ tenantSlug: 'globex' })}`;
      expect(outcomeOf(await backend.get({ host: HOST, cookie }))).toMatch(
        UNAUTHENTICATED,
      );
      expect(outcomeOf(await withToken(sign(ACME), { cookie }))).toBe('acme');
    });

    it('a token of a user names no tenant, and still authenticates the user', async () => {
      const token = userToken('user:default/guest', ACME);
      const answer = await withToken(token, { 'x-tenant-slug': 'globex' });
      expect(outcomeOf(answer)).toBe('globex');
      expect(callerOf(answer)).toMatchObject({
        type: 'user',
        userEntityRef: 'user:default/guest',
      });
    });
  });

  it('is refused by Backstage without an entry of type tenant', async () => {
    const backend = await start([]);
    expect(
      outcomeOf(
        await backend.get({
          host: HOST,
          authorization: `Bearer ${sign(ACME)}`,
        }),
      ),
    ).toMatch(UNAUTHENTICATED);
    expect(directory.lookups).toEqual([]);
  });

  it('without the flag is good for the default tenant alone', async () => {
    const backend = await start([ENTRY], { enabled: 'false' });
    const withToken = (tenantSlug: string) =>
      backend.get({
        host: HOST,
        authorization: `Bearer ${sign({ tenantSlug })}`,
      });
    expect(outcomeOf(await withToken('acme'))).toMatch(UNAUTHENTICATED);
    expect(directory.lookups).toEqual([]);
    expect(outcomeOf(await withToken('default'))).toBe('default');
  });

  it('keeps the backend from starting without a secret, which says why', async () => {
    const environment = process.env.JWT_SECRET;
    delete process.env.JWT_SECRET;
    try {
      await expect(start([ENTRY], { jwtSecret: undefined })).rejects.toThrow(
        `Missing configuration value at 'tenancy.jwtSecret'`,
      );
    } finally {
      if (environment !== undefined) {
        process.env.JWT_SECRET = environment;
      }
    }
  });

  it.each<[string, JsonObject[]]>([
    ['none', [{ type: 'tenant', options: {} }]],
    [
      'an empty list',
      [{ type: 'tenant', options: {}, accessRestrictions: [] }],
    ],
    ['none in the second entry', [ENTRY, { type: 'tenant', options: {} }]],
  ])(
    'keeps the backend from starting without accessRestrictions, flag on or off, and shows what to write: %s',
    async (_title, externalAccess) => {
      for (const enabled of ['true', 'false']) {
        const error = await startTestBackend({
          features: [
            tenancyFeatures,
            mockServices.rootConfig.factory({
              data: configData({
                backend: { auth: { externalAccess } },
                tenancy: { enabled },
              }),
            }),
          ],
        }).then(
          () => undefined,
          reason => reason,
        );
        expect(String(error)).toContain(
          `backend.auth.externalAccess[${
            externalAccess.length - 1
          }] of type 'tenant' has no accessRestrictions`,
        );
        expect(String(error)).toContain(
          [
            'backend:',
            '  auth:',
            '    externalAccess:',
            '      - type: tenant',
            '        options: {}',
            '        accessRestrictions:',
            '          - plugin: catalog',
            '            permission: [catalog.entity.read]',
          ].join('\n'),
        );
      }
    },
  );
});
