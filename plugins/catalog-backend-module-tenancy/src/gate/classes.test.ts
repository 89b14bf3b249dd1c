import {
  coreServices,
  createBackendPlugin,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import {
  tenantGatesServiceRef,
  tenantOf,
  tenantPluginsServiceRef,
  tenantSourceOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';
import { InMemoryTenants } from '../resolution/__testUtils__/InMemoryTenants';
import {
  classifiedPlugin,
  PATHS,
  startGatedBackend,
} from './__testUtils__/startGatedBackend';

const REFUSED = '{"error":"Invalid tenant"}';

/** Answers with what the gates know. */
const knowing = createBackendPlugin({
  pluginId: 'tenants',
  register(env) {
    env.registerInit({
      deps: {
        gates: tenantGatesServiceRef,
        httpRouter: coreServices.httpRouter,
      },
      async init({ gates, httpRouter }) {
        httpRouter.use((req, res) => {
          res.json([tenantSourceOf(req), ...gates.closedPlugins()]);
        });
      },
    });
  },
});

describe('the class of a plugin', () => {
  const logger = mockServices.logger.mock();
  const directory = new InMemoryTenants();
  let send: Awaited<ReturnType<typeof startGatedBackend>>;

  beforeAll(async () => {
    send = await startGatedBackend({
      directory,
      tenancy: { plugins: { shared: ['news'] } },
      features: [
        logger.factory,
        classifiedPlugin('aware', { tenantAware: true }),
        classifiedPlugin('auth'),
        classifiedPlugin('news'),
        classifiedPlugin('search'),
        knowing,
      ],
    });
  });

  const get = async (pluginId: string, tenantSlug: string) => {
    const { status, text } = await send(
      `/api/${pluginId}${PATHS.credentials}`,
      {
        'x-tenant-slug': tenantSlug,
        authorization: mockCredentials.user.header(),
      },
    );
    return `${status} ${text}`;
  };

  it.each(['aware', 'auth', 'news', 'search'])(
    'opens %s to the default tenant',
    async pluginId => {
      const answer = pluginId === 'aware' ? 'default' : 'reached';
      expect(await get(pluginId, 'default')).toBe(`200 "${answer}"`);
    },
  );

  it('gives tenants a plugin that declared itself tenant-aware, with their tenant', async () => {
    expect(await get('aware', 'acme')).toBe('200 "acme"');
    expect(await get('aware', 'globex')).toBe('200 "globex"');
  });

  it('closes a plugin that is in no class, and says so once in the log', async () => {
    logger.warn.mockClear();
    for (const slug of ['acme', 'acme', 'globex']) {
      const [status, body] = (await get('search', slug)).split(/ (.*)/);
      expect(status).toBe('403');
      expect(JSON.parse(body).error).toEqual({
        name: 'NotAllowedError',
        message: `The plugin 'search' is not available to the tenant '${slug}'`,
      });
    }
    expect(logger.warn.mock.calls).toEqual([
      [
        expect.stringMatching(
          /^The plugin 'search' is closed .* add 'search' to tenancy\.plugins\.shared$/,
        ),
      ],
    ]);
  });

  it('opens devtools to the administrators of tenants alone, in the default tenant', async () => {
    const ask = await startGatedBackend({
      directory,
      tenancy: { admins: ['user:default/operator'] },
      features: [classifiedPlugin('devtools')],
    });
    const statusOf = async (user: string, tenant: string) => {
      const { status } = await ask(`/api/devtools${PATHS.credentials}`, {
        'x-tenant-slug': tenant,
        authorization: mockCredentials.user.header(`user:default/${user}`),
      });
      return [user, tenant, status];
    };
    await expect(
      Promise.all([
        statusOf('operator', 'default'),
        statusOf('operator', 'acme'),
        statusOf('member', 'default'),
        statusOf('member', 'acme'),
      ]),
    ).resolves.toEqual([
      ['operator', 'default', 200],
      ['operator', 'acme', 403],
      ['member', 'default', 403],
      ['member', 'acme', 403],
    ]);
  });

  it.each(['aware', 'auth', 'search'])(
    'opens the scheduled tasks of %s to the administrators of tenants alone, in the default tenant: those of all tenants are among them',
    async pluginId => {
      const ask = await startGatedBackend({
        directory,
        tenancy: { admins: ['user:default/operator'] },
        features: [
          classifiedPlugin(pluginId, { tenantAware: pluginId === 'aware' }),
        ],
      });
      const statusOf = async (user: string, tenant: string, path: string) => {
        const { status } = await ask(`/api/${pluginId}${path}`, {
          'x-tenant-slug': tenant,
          authorization: mockCredentials.user.header(`user:default/${user}`),
        });
        return status;
      };
      const path = '/.backstage/scheduler/v1/tasks';
      await expect(
        Promise.all([
          statusOf('operator', 'default', path),
          statusOf('member', 'default', path),
          statusOf('member', 'default', '/.Backstage/Scheduler/v1/tasks/x/run'),
          statusOf('operator', 'acme', path),
          statusOf('member', 'acme', path),
          statusOf('member', 'default', '/.backstage/others'),
        ]),
      ).resolves.toEqual([200, 403, 403, 403, 403, 200]);
    },
  );

  it('tells other plugins which are closed, and what named the tenant', async () => {
    expect(await get('tenants', 'acme')).toBe('200 ["header","search"]');
    const { text } = await send('/api/tenants', {
      host: 'acme.example.com',
      authorization: mockCredentials.user.header(),
    });
    expect(text).toBe('["hostname","search"]');
  });

  it('has pages and sign-in answer without credentials, whatever tenant is named and whether it can be looked up', async () => {
    directory.failure = new Error('The database is away');
    try {
      for (const slug of ['default', 'acme', 'unknown', 'Not A Slug']) {
        const { status, text } = await send(`/api/auth${PATHS.open}`, {
          'x-tenant-slug': slug,
          // The stand-in for Backstage's authentication takes none for a user.
          authorization: mockCredentials.none.header(),
        });
        expect({ slug, status, text }).toEqual({
          slug,
          status: 200,
          text: '"reached"',
        });
      }
    } finally {
      directory.failure = undefined;
    }
  });
});

describe('a plugin of which each tenant has an instance', () => {
  /** The instances of all tenants. */
  const answer: jest.MockedFunction<RequestHandler> = jest.fn();
  const reached: RequestHandler = (req, res) => {
    res.json(`instance of ${tenantOf(req).tenantSlug}`);
  };

  const start = (
    feature: ReturnType<typeof classifiedPlugin>,
    options: { shared?: string[]; pluginId?: string } = {},
  ) => {
    const { shared = [], pluginId = 'search' } = options;
    return startGatedBackend({
      directory: new InMemoryTenants(),
      members: {
        roleOf: async ({ tenantSlug }) =>
          tenantSlug === 'acme' ? 'member' : undefined,
      },
      tenancy: { plugins: { shared } },
      features: [
        createServiceFactory({
          service: tenantPluginsServiceRef,
          deps: {},
          factory: () => ({
            pluginIds: [pluginId],
            handlerOf: id => (id === pluginId ? answer : undefined),
            isPublic: () => false,
            upgradesOf: () => undefined,
          }),
        }),
        feature,
      ],
    });
  };

  const headersOf = (
    tenantSlug: string,
    authorization = mockCredentials.user.header(),
  ) => ({ 'x-tenant-slug': tenantSlug, authorization });

  beforeEach(() => answer.mockReset().mockImplementation(reached));

  it('answers members with that of their tenant, and the default tenant itself', async () => {
    const send = await start(classifiedPlugin('search'));
    for (const path of Object.values(PATHS)) {
      const ofAcme = await send(`/api/search${path}`, headersOf('acme'));
      expect(ofAcme).toMatchObject({ status: 200, text: '"instance of acme"' });
    }
    answer.mockClear();
    expect(
      await send(`/api/search${PATHS.credentials}`, headersOf('default')),
    ).toMatchObject({ status: 200, text: '"reached"' });
    // Neither have others than members an instance to ask.
    for (const slug of ['globex', 'unknown']) {
      expect(
        await send(`/api/search${PATHS.credentials}`, headersOf(slug)),
      ).toMatchObject({ status: 403, text: REFUSED });
    }
    const { status } = await send(
      `/api/search${PATHS.credentials}`,
      headersOf('acme', mockCredentials.none.header()),
    );
    expect(status).toBe(401);
    expect(answer).not.toHaveBeenCalled();
  });

  it.each([undefined, 'router' as const])(
    'never goes on to the plugin of the default tenant: next(%p)',
    async passed => {
      const send = await start(classifiedPlugin('search'));
      answer.mockImplementation((_req, _res, next) => next(passed as 'router'));
      const { status, text } = await send(
        `/api/search${PATHS.credentials}`,
        headersOf('acme'),
      );
      expect(status).toBe(404);
      expect(JSON.parse(text).error).toEqual({
        name: 'NotFoundError',
        message: `There is no GET ${PATHS.credentials}`,
      });
    },
  );

  it('gets no upgrade as a request, as before Backstage routed WebSockets', async () => {
    const send = await start(classifiedPlugin('search'));
    const { status, text } = await send(`/api/search${PATHS.credentials}`, {
      ...headersOf('acme'),
      connection: 'Upgrade',
      upgrade: 'websocket',
    });
    expect(status).toBe(403);
    expect(JSON.parse(text).error.message).toBe(
      `The instances of the plugin 'search' have no WebSocket ${PATHS.credentials}`,
    );
    expect(answer).not.toHaveBeenCalled();
  });

  it.each([
    [
      'auth',
      [],
      /'auth' is listed in onePerTenant, and it is shared .* as alw/,
    ],
    ['news', ['news'], /tenancy\.plugins\.shared lists it/],
  ])('is not %s, which is shared', async (pluginId, shared, message) => {
    await expect(
      start(classifiedPlugin(pluginId), { pluginId, shared }),
    ).rejects.toThrow(message);
  });

  it('is none that is tenant-aware', async () => {
    await expect(
      start(classifiedPlugin('search', { tenantAware: true })),
    ).rejects.toThrow(/serves the requests of all tenants itself/);
  });
});

describe('membership as it is configured', () => {
  const roleOf = jest.fn(async () => undefined);

  const start = async (tenancy: JsonObject) => {
    const send = await startGatedBackend({
      directory: new InMemoryTenants(),
      members: { roleOf },
      tenancy,
      features: [
        // Of a request without a token.
        mockServices.httpAuth.factory({
          defaultCredentials: mockCredentials.service('plugin:example'),
        }),
        classifiedPlugin('aware', { tenantAware: true }),
        classifiedPlugin('auth'),
        classifiedPlugin('search'),
      ],
    });
    return async (
      pluginId: string,
      tenantSlug: string,
      authorization = mockCredentials.user.header(),
      path: string = PATHS.credentials,
    ) => {
      const headers = {
        'x-tenant-slug': tenantSlug,
        ...(authorization && { authorization }),
      };
      const { status, text } = await send(`/api/${pluginId}${path}`, headers);
      return `${status} ${text}`;
    };
  };

  beforeEach(() => roleOf.mockClear());

  it('is not asked at all while it is open', async () => {
    const get = await start({ membership: 'open' });
    expect(await get('aware', 'acme')).toBe('200 "acme"');
    expect(await get('search', 'acme')).toMatch(/^403 .*is not available/);
    expect(roleOf).not.toHaveBeenCalled();
  });

  it('is asked in the default tenant too where only members enter that', async () => {
    const get = await start({ membershipOfDefault: 'members' });
    const none = mockCredentials.none.header();
    for (const pluginId of ['aware', 'search']) {
      expect(await get(pluginId, 'default')).toBe(`403 ${REFUSED}`);
      // Plugins, and what asks nobody for credentials, have no other tenant.
      expect(await get(pluginId, 'default', '')).toMatch(/^200/);
      expect(await get(pluginId, 'default', none, PATHS.open)).toMatch(/^200/);
    }
    // Members are found out with its help.
    expect(await get('auth', 'default')).toBe('200 "reached"');
  });
});
