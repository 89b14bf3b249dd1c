import { authServiceFactory } from '@backstage/backend-defaults/auth';
import { DefaultHttpAuthService } from '@backstage/backend-defaults/httpAuth';
import { userInfoServiceFactory } from '@backstage/backend-defaults/userInfo';
import {
  type AuthService,
  coreServices,
  createBackendPlugin,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import type { JsonObject } from '@backstage/types';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  type TenantMemberStore,
  tenantMemberStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { TestServer } from '@internal/catalog-testing/TestServer';
import { type Answer, sendTo } from '../resolution/__testUtils__/send';
import { SECRET, sign } from '../resolution/__testUtils__/tokens';
import {
  issuerToken,
  limitedToken,
  publicJwk,
  userToken,
} from '../resolution/__testUtils__/userTokens';
import { IdentityProvider } from '../resolution/__testUtils__/identityProvider';
import { classifiedPlugin, PATHS } from './__testUtils__/startGatedBackend';

const databases = createTestDatabases({ versions: 'newest' });

const REFUSED = '403 {"error":"Invalid tenant"}';
const MEMBER_TOKEN = 'static-token-of-a-member';
const STRANGER_TOKEN = 'static-token-of-no-member';
const IMPOSTOR_TOKEN = 'static-token-of-an-impostor';
const ADMIN_TOKEN = 'static-token-of-an-administrator';

/** The plugins of the matrix, one for each class. */
const AWARE = 'aware';
const SHARED = 'news';
const CLOSED = 'search';
const PLUGINS = [AWARE, SHARED, CLOSED];

/** The tenants of the matrix. Members of `acme` are members of `gone` too. */
const TENANTS = ['default', 'acme', 'globex', 'gone', 'nobody'];

/** The members of `acme`, and of `gone`, which is deleted. */
const MEMBERS = [
  'user:default/jane',
  'user:development/guest',
  'group:default/crew',
  'group:default/parents',
  'ci',
  'external:issuer:ci',
];

/** Who is in which groups according to the sign-in, where the token does not say it. */
const identity = new IdentityProvider({
  'user:default/in-group': ['user:default/in-group', 'group:default/crew'],
  'user:default/outsider': ['user:default/outsider', 'group:default/other'],
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** A token of the kind that names no groups, as Backstage's auth plugin makes them. */
const slimToken = (ref: string) => userToken(ref, { ent: undefined });

interface Caller {
  name: string;
  /** Sends this to a plugin. */
  call: (pluginId: string) => Promise<{
    path?: string;
    headers: Record<string, string>;
  }>;
  /** Of the tenants that there are. */
  enters: string[];
  /** Whether Backstage finds no credentials in the header `Authorization`. */
  bare?: boolean;
}

const MEMBER = ['default', 'acme'];
const STRANGER = ['default'];
const ADMIN = ['default', 'acme', 'globex'];

/** A caller with a token for the plugin that it calls. */
const withToken = (
  name: string,
  enters: string[],
  token: (pluginId: string) => string | Promise<string>,
): Caller => ({
  name,
  enters,
  call: async pluginId => ({ headers: bearer(await token(pluginId)) }),
});

const withCookie = (name: string, enters: string[], ref: string): Caller => ({
  name,
  enters,
  bare: true,
  call: async () => ({
    path: PATHS.cookie,
    headers: { cookie: `backstage-auth=${limitedToken(ref)}` },
  }),
});

/** At a route that asks for no credentials. */
const atOpenRoute = (
  name: string,
  enters: string[],
  token?: () => string,
): Caller => ({
  name,
  enters,
  bare: true,
  call: async () => ({
    path: PATHS.open,
    headers: token ? bearer(token()) : {},
  }),
});

/** The callers that docs/integrators/gate.md lists. */
const CALLERS: Caller[] = [
  withToken('a user who is a member', MEMBER, () =>
    userToken('user:default/jane'),
  ),
  withToken('a user who is no member', STRANGER, () =>
    slimToken('user:default/outsider'),
  ),
  withToken('a user whom no sign-in of the auth plugin knows', STRANGER, () =>
    slimToken('user:default/unknown'),
  ),
  withToken('a plugin on behalf of a member', MEMBER, pluginId =>
    onBehalfOf('user:default/jane', pluginId),
  ),
  withToken(
    'a plugin on behalf of a member through a group',
    MEMBER,
    pluginId => onBehalfOf('user:default/in-group', pluginId),
  ),
  withToken(
    'a plugin on behalf of a user who is no member',
    STRANGER,
    pluginId => onBehalfOf('user:default/outsider', pluginId),
  ),
  withToken('a guest who is a member', MEMBER, () =>
    userToken('user:development/guest'),
  ),
  withToken('a member through a group', MEMBER, () =>
    slimToken('user:default/in-group'),
  ),
  withToken(
    'a member through a nested group that the sign-in names',
    MEMBER,
    () =>
      userToken('user:default/nested', {
        ent: ['group:default/children', 'group:default/parents'],
      }),
  ),
  withToken(
    'a user in a group below a member that the sign-in does not name',
    STRANGER,
    () => userToken('user:default/nested', { ent: ['group:default/children'] }),
  ),
  withToken(
    "a user whom the tenant's own catalog has in a group that is a member",
    STRANGER,
    () => userToken('user:default/intruder'),
  ),
  withToken(
    'a user whose sign-in claims the subject of a service',
    STRANGER,
    () => userToken('user:default/claims', { ent: ['ci'] }),
  ),
  withToken('a user in tenancy.admins', ADMIN, () =>
    slimToken('user:default/root'),
  ),
  withToken('a plugin in its own name', STRANGER, pluginId =>
    ownToken(pluginId),
  ),
  withToken(
    'an external service with a static token that is a member',
    MEMBER,
    () => MEMBER_TOKEN,
  ),
  withToken(
    'an external service with a static token that is no member',
    STRANGER,
    () => STRANGER_TOKEN,
  ),
  withToken(
    'an external service whose subject is the name of a member',
    STRANGER,
    () => IMPOSTOR_TOKEN,
  ),
  withToken(
    'an external service with a static token in tenancy.admins',
    ADMIN,
    () => ADMIN_TOKEN,
  ),
  withToken('an external service by JWKS that is a member', MEMBER, () =>
    issuerToken('ci'),
  ),
  withToken('an external service by JWKS that is no member', STRANGER, () =>
    issuerToken('user:default/jane'),
  ),
  withToken("a tenant's token", ['acme'], () => sign({ tenantSlug: 'acme' })),
  withCookie('the cookie of a member', MEMBER, 'user:default/jane'),
  withCookie(
    'the cookie of a user who is no member',
    STRANGER,
    'user:default/outsider',
  ),
  atOpenRoute(
    'a request without credentials to a route that asks for none',
    STRANGER,
  ),
  atOpenRoute(
    'a forged call of a plugin for acme, to a route that asks for no credentials',
    STRANGER,
    () =>
      sign(
        { obo: 'tenant:acme;' },
        { header: { alg: 'HS256', typ: 'vnd.backstage.plugin' } },
      ),
  ),
  {
    ...atOpenRoute(
      'a member at a route that asks for no credentials',
      MEMBER,
      () => userToken('user:default/jane'),
    ),
    bare: false,
  },
];

const services: { auth?: AuthService; members?: TenantMemberStore } = {};

async function onBehalfOf(userRef: string, targetPluginId: string) {
  const auth = services.auth!;
  const user = await auth.authenticate(slimToken(userRef));
  const options = { onBehalfOf: user, targetPluginId };
  return (await auth.getPluginRequestToken(options)).token;
}

async function ownToken(targetPluginId: string) {
  const auth = services.auth!;
  const onBehalfOf_ = await auth.getOwnServiceCredentials();
  const options = { onBehalfOf: onBehalfOf_, targetPluginId };
  return (await auth.getPluginRequestToken(options)).token;
}

/** Where a proxy adds its own `Authorization` to all requests, tokens are in this header. */
const BEHIND_PROXY = 'x-portal-token';

const httpAuthBehindProxy = createServiceFactory({
  service: coreServices.httpAuth,
  deps: {
    auth: coreServices.auth,
    discovery: coreServices.discovery,
    plugin: coreServices.pluginMetadata,
  },
  factory: ({ plugin, ...deps }) =>
    DefaultHttpAuthService.create({
      ...deps,
      pluginId: plugin.getId(),
      getTokenFromRequest: req => ({
        token: (req.get(BEHIND_PROXY) ?? req.get('authorization'))?.replace(
          /^Bearer /,
          '',
        ),
      }),
    }),
});

const callerPlugin = createBackendPlugin({
  pluginId: 'caller',
  register(env) {
    env.registerInit({
      deps: {
        auth: coreServices.auth,
        members: tenantMemberStoreServiceRef,
        // It publishes the key of the tokens.
        httpRouter: coreServices.httpRouter,
      },
      async init({ auth, members }) {
        Object.assign(services, { auth, members });
      },
    });
  },
});

describe.each(databases.eachSupportedId())('who may enter, on %s', id => {
  let backend: CatalogBackend;
  let issuer: TestServer;

  const send = (
    pluginId: string,
    slug: string,
    call: Awaited<ReturnType<Caller['call']>>,
  ) =>
    sendTo(
      backend.server.port(),
      `/api/${pluginId}${call.path ?? PATHS.credentials}`,
      { ...call.headers, host: `${slug}.portal.example` },
      'GET',
    );

  beforeAll(async () => {
    issuer = await new TestServer((_req, res) => {
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ keys: [publicJwk] }));
    }).listen();
    backend = await startCatalogBackend({
      connection: await createTenancyDatabase(databases, id),
      enabled: true,
      features: [
        authServiceFactory,
        httpAuthBehindProxy,
        userInfoServiceFactory,
        identity.plugin,
        callerPlugin,
        classifiedPlugin(AWARE, { tenantAware: true }),
        classifiedPlugin(SHARED),
        classifiedPlugin(CLOSED),
      ],
      config: config(`${issuer.url}/jwks.json`),
    });
    for (const slug of ['acme', 'globex', 'gone']) {
      await backend.createTenant(slug);
    }
    const by = 'user:default/root';
    for (const principal of MEMBERS) {
      for (const slug of ['acme', 'gone']) {
        const member = { principal, role: 'member' } as const;
        await services.members!.put(slug, member, { by });
      }
    }
    await backend.tenants.delete('gone');
    await backend.createTenant('acme', [
      {
        apiVersion: 'backstage.io/v1alpha1',
        kind: 'User',
        metadata: { name: 'intruder' },
        spec: { memberOf: ['crew'] },
        relations: [{ type: 'memberOf', targetRef: 'group:default/crew' }],
      },
    ]);
  });

  afterAll(() => issuer?.stop());

  it.each(CALLERS)('$name', async ({ call, enters, bare = false }) => {
    const answers: Record<string, string> = {};
    const expected: Record<string, string> = {};
    const refusals: Answer[] = [];
    for (const pluginId of PLUGINS) {
      for (const slug of TENANTS) {
        const sent = await call(pluginId);
        const answer = await send(pluginId, slug, sent);
        const key = `${pluginId} of ${slug}`;
        answers[key] = `${answer.status} ${answer.text}`;
        expected[key] = expectedAnswer(pluginId, slug, {
          enters,
          bare,
          path: sent.path ?? PATHS.credentials,
        });
        if (answers[key] === REFUSED) {
          const { date, ...headers } = answer.headers;
          refusals.push({ ...answer, headers });
        }
      }
    }
    expect(answers).toEqual(expected);
    for (const refusal of refusals) {
      expect(refusal).toEqual(refusals[0]);
    }
  });

  it('has credentials come first', async () => {
    for (const pluginId of PLUGINS) {
      for (const slug of TENANTS) {
        for (const headers of [{}, bearer('no token')]) {
          const { status } = await send(pluginId, slug, { headers });
          expect({ pluginId, slug, status }).toMatchObject({ status: 401 });
        }
      }
    }
  });

  it('refuses a member at the first request after the removal', async () => {
    const call = { headers: bearer(slimToken('user:default/leaving')) };
    const outcome = async () => (await send(AWARE, 'globex', call)).status;
    expect(await outcome()).toBe(403);
    await services.members!.put(
      'globex',
      { principal: 'user:default/leaving', role: 'admin' },
      { by: 'user:default/root' },
    );
    expect([await outcome(), await outcome()]).toEqual([200, 200]);
    await services.members!.remove('globex', 'user:default/leaving');
    expect([await outcome(), await outcome()]).toEqual([403, 403]);
  });

  it('asks for the groups of a user once for a token, also for calls on behalf of the user', async () => {
    const headers = bearer(slimToken('user:default/in-group'));
    const before = identity.asked;
    for (const pluginId of PLUGINS) {
      for (const slug of ['acme', 'globex']) {
        await send(pluginId, slug, { headers });
      }
    }
    expect(identity.asked - before).toBeLessThanOrEqual(1);
  });

  it('keeps the groups of users apart whose requests have the same Authorization, of a proxy', async () => {
    const outcomes = [];
    for (const name of ['in-group', 'outsider', 'in-group']) {
      const { status } = await send(AWARE, 'acme', {
        headers: {
          ...bearer('of-the-proxy'),
          [BEHIND_PROXY]: slimToken(`user:default/${name}`),
        },
      });
      outcomes.push(status);
    }
    expect(outcomes).toEqual([200, 403, 200]);
  });

  it('answers 503 where the groups of a user can not be found out, and asks again', async () => {
    const headers = bearer(
      userToken('user:default/in-group', {
        ent: undefined,
        // Another token.
        jti: 'away',
      }),
    );
    identity.isAway = true;
    try {
      const { status, text } = await send(AWARE, 'acme', { headers });
      expect(status).toBe(503);
      expect(JSON.parse(text).error.message).toBe(
        'The groups of the user cannot be read at the moment',
      );
    } finally {
      identity.isAway = false;
    }
    expect((await send(AWARE, 'acme', { headers })).text).toBe('"acme"');
  });
});

function expectedAnswer(
  pluginId: string,
  slug: string,
  caller: { enters: string[]; bare: boolean; path: string },
): string {
  // Pages and sign-in, before there is anybody to ask about.
  if (pluginId === SHARED && caller.bare) {
    return '200 "reached"';
  }
  if (!caller.enters.includes(slug)) {
    return REFUSED;
  }
  if (pluginId === CLOSED && slug !== 'default') {
    return `403 ${closedBody(slug, caller.path)}`;
  }
  return `200 "${pluginId === AWARE ? slug : 'reached'}"`;
}

/** What the error handler of Backstage makes of it. */
function closedBody(slug: string, url: string): string {
  return JSON.stringify({
    error: {
      name: 'NotAllowedError',
      message: `The plugin '${CLOSED}' is not available to the tenant '${slug}'`,
    },
    request: { method: 'GET', url },
    response: { statusCode: 403 },
  });
}

function config(jwksUrl: string): JsonObject {
  const accessRestrictions = PLUGINS.map(plugin => ({ plugin }));
  const entry = (token: string, subject: string) => ({
    type: 'static',
    options: { token, subject },
  });
  return {
    backend: {
      auth: {
        externalAccess: [
          entry(MEMBER_TOKEN, 'ci'),
          entry(STRANGER_TOKEN, 'nightly'),
          entry(IMPOSTOR_TOKEN, 'user:default/jane'),
          entry(ADMIN_TOKEN, 'provisioner'),
          {
            type: 'jwks',
            options: {
              url: jwksUrl,
              algorithm: 'ES256',
              issuer: 'https://issuer.example',
              audience: 'portal',
              subjectPrefix: 'issuer',
            },
          },
          { type: 'tenant', options: {}, accessRestrictions },
        ],
      },
    },
    tenancy: {
      membership: 'required',
      admins: ['user:default/root', 'provisioner'],
      jwtSecret: SECRET,
      plugins: { shared: [SHARED] },
    },
  };
}
