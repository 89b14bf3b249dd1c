import authBackend from '@backstage/plugin-auth-backend';
import { authServiceFactory } from '@backstage/backend-defaults/auth';
import { httpAuthServiceFactory } from '@backstage/backend-defaults/httpAuth';
import { userInfoServiceFactory } from '@backstage/backend-defaults/userInfo';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import {
  type OpenIdProvider,
  startOpenIdProvider,
} from '@internal/catalog-testing/startOpenIdProvider';
import { takeServices } from '@internal/catalog-testing/takeServices';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  DEFAULT_TENANT_ID,
  type TenantAuditTrail,
  tenantAuditTrailServiceRef,
  type TenantMemberStore,
  tenantMemberStoreServiceRef,
  type TenantSignInStore,
  tenantSignInStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import type { PutTenantSignIn } from 'backstage-plugin-tenants-common';
import { once } from 'events';
import { request } from 'http';
import { text } from 'stream/consumers';
import { type Claims, personOf } from './claims';
import { flowSecretsOf } from './flowSecrets';
import { tenantSignIn } from './module';

const databases = createTestDatabases({ versions: 'newest' });

const SECRET = 'the secret of the client';
const APP = 'http://localhost:3000';
const CALLBACK = 'http://localhost:0/api/auth/tenant/handler/frame';

/** What the providers say of people. Each claims what it likes. */
const ACCOUNTS = {
  jane: {
    preferred_username: 'Jane',
    email: 'jane@acme.example',
    email_verified: true,
    name: 'Jane Doe',
    groups: ['staff', 'group:default/admins'],
  },
  boss: { preferred_username: 'boss', groups: ['bosses', 'staff'] },
  guest: { preferred_username: 'guest' },
  // Of others.
  'user:default/admin': {
    preferred_username: 'user:default/admin',
    email: 'admin@portal.example',
    email_verified: true,
    groups: ['user:default/admin', 'admin'],
  },
  root: { preferred_username: 'root', email: 'admin@portal.example' },
  known: { preferred_username: 'known', groups: ['staff'] },
  unverified: {
    preferred_username: 'unverified',
    email: 'x@acme.example',
    email_verified: false,
  },
};

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** What the window of a sign-in tells the page. */
function toldBy(page: string): any {
  const [, message] = /authResponse = decodeURIComponent\('([^']*)'\)/.exec(
    page,
  )!;
  return JSON.parse(decodeURIComponent(message));
}

/** A browser of one person: cookies by host, and redirects. */
class Browser {
  readonly cookies = new Map<string, Map<string, string>>();
  /** The headers that set them. */
  readonly given: string[] = [];
  constructor(readonly port: number) {}

  /** What the portal is called and where it listens differ in tests. */
  async send(
    address: string | URL,
    options: { method?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const url = new URL(address);
    const isPortal = url.hostname === 'localhost';
    const jar = this.cookies.get(url.host) ?? new Map();
    this.cookies.set(url.host, jar);
    const sent = request({
      host: '127.0.0.1',
      port: isPortal ? this.port : url.port,
      path: url.pathname + url.search,
      method: options.method ?? 'GET',
      headers: {
        ...options.headers,
        host: url.host,
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
      },
    }).end();
    const [response] = await once(sent, 'response');
    for (const cookie of response.headers['set-cookie'] ?? []) {
      this.given.push(cookie);
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      if (value === '' || /Max-Age=0/i.test(cookie)) {
        jar.delete(name);
      } else {
        jar.set(name, value);
      }
    }
    return {
      status: response.statusCode,
      headers: response.headers,
      text: await text(response),
    };
  }

  /** The address at the provider to which the portal leads. */
  async start(tenant: string): Promise<URL> {
    const {
      status,
      headers,
      text: body,
    } = await this.send(
      `http://localhost:0/api/auth/tenant/start?env=development&tenant=${tenant}&origin=${encodeURIComponent(
        APP,
      )}`,
    );
    if (status !== 302) {
      throw new Error(toldBy(body).error.message);
    }
    return new URL(String(headers.location));
  }

  /** Signs in at a provider, to the redirect to the portal, which is not followed. */
  async signInAt(provider: URL, account: string): Promise<URL> {
    let next = new URL(provider);
    next.searchParams.set('login_hint', account);
    while (next.hostname !== 'localhost') {
      const { headers, text: body } = await this.send(next);
      if (!headers.location) {
        throw new Error(`The provider leads nowhere: ${body}`);
      }
      next = new URL(String(headers.location), next);
    }
    return next;
  }

  /** What the window of the sign-in tells the page. */
  async finish(callback: URL): Promise<any> {
    return toldBy((await this.send(callback)).text);
  }

  async signIn(tenant: string, account: string): Promise<any> {
    return this.finish(await this.signInAt(await this.start(tenant), account));
  }

  async refresh(tenant: string): Promise<any> {
    const { text: body } = await this.send(
      `http://localhost:0/api/auth/tenant/refresh?env=development&tenant=${tenant}`,
      { headers: { 'x-requested-with': 'XMLHttpRequest' } },
    );
    return JSON.parse(body);
  }

  async signOut(tenant: string): Promise<number> {
    const { status } = await this.send(
      `http://localhost:0/api/auth/tenant/logout?env=development&tenant=${tenant}`,
      { method: 'POST', headers: { 'x-requested-with': 'XMLHttpRequest' } },
    );
    return status;
  }
}

const userOf = (answer: any) =>
  (answer.response ?? answer).backstageIdentity?.identity.userEntityRef ??
  (answer.error?.message as string);

it('an attempt has secrets of its browser, tenant and provider', () => {
  const attempt = { browserNonce: 'a', tenantId: 'b', issuer: 'c' };
  const secrets = [
    flowSecretsOf('key', attempt),
    flowSecretsOf('another', attempt),
    ...Object.keys(attempt).map(key =>
      flowSecretsOf('key', { ...attempt, [key]: 'x' }),
    ),
  ].flatMap(each => Object.values(each));
  expect(new Set(secrets).size).toBe(10);
});

describe('a person', () => {
  const personBy = (
    claims: Claims,
    provider: Partial<PutTenantSignIn> = {},
  ) => {
    const { allowed_domains = ['acme.example'] } = provider;
    return personOf({ ...provider, allowed_domains } as PutTenantSignIn, {
      ...{ preferred_username: 'jane', email: 'x@acme.example' },
      ...{ email_verified: true, ...claims },
    });
  };

  it('has the name before an address where only one domain can follow', () => {
    expect(
      personBy({ preferred_username: 'Jane@Acme.example', name: '' }),
    ).toMatchObject({ name: 'jane', displayName: undefined });
  });

  it.each([
    ['jane@other.example', ['acme.example']],
    ['jane@acme.example@x', ['acme.example']],
    ['jane@acme.example', ['acme.example', 'other.example']],
    ['', ['acme.example']],
    [['jane'], ['acme.example']],
    [undefined, ['acme.example']],
  ])('is none without the name of a user: %j', (name, allowed_domains) => {
    expect(() =>
      personBy({ preferred_username: name }, { allowed_domains }),
    ).toThrow('is not the name of a user');
  });

  it('is let in by an address, however it is written', () => {
    expect(personBy({ email: 'x@ACME.example' }).name).toBe('jane');
  });

  it.each([
    { email: 'x@acme.example@other.example' },
    { email: 'x@acme.example', email_verified: 'true' },
    { email: ['x@acme.example'] },
  ])('is let in by no other than a verified address: %j', claims => {
    expect(() => personBy(claims)).toThrow('verified no address');
  });

  it.each([
    [['staff', 'bosses'], 'admin'],
    [['others', 'constructor', 7, ['bosses']], undefined],
    ['bosses', undefined],
    [undefined, undefined],
  ])('of the groups %j has the role %s', (groups, role) => {
    const roles = { staff: 'member', bosses: 'admin' } as const;
    expect(personBy({ groups }, { roles }).role).toBe(role);
  });
});

describe.each(databases.eachSupportedId())(
  "sign-in of a tenant's own, on %s",
  id => {
    const providers: OpenIdProvider[] = [];
    let backend: CatalogBackend;
    let signIns: TenantSignInStore;
    let members: TenantMemberStore;
    let trail: TenantAuditTrail;
    const issuers: Record<string, string> = {};

    async function startProvider(tenant: string): Promise<string> {
      const provider = await startOpenIdProvider({
        clientId: 'portal',
        clientSecret: SECRET,
        redirectUri: `${CALLBACK}?tenant=${tenant}`,
        accounts: ACCOUNTS,
      });
      providers.push(provider);
      return provider.issuer;
    }

    const put = (tenant: string, changes: Partial<PutTenantSignIn> = {}) =>
      signIns.put(
        tenant,
        {
          issuer: issuers[tenant],
          client_id: 'portal',
          client_secret: '${SIGN_IN_TEST_SECRET}',
          auto_join: 'viewer',
          ...changes,
        },
        { by: 'user:default/operator' },
      );

    const open = () => new Browser(backend.server.port());
    const roleOf = async (tenant: string, principal: string) =>
      (await members.get(tenant, principal))?.role;

    beforeAll(async () => {
      process.env.SIGN_IN_TEST_SECRET = SECRET;
      for (const tenant of ['acme', 'globex']) {
        issuers[tenant] = await startProvider(tenant);
      }
      const connection = await createTenancyDatabase(databases, id);
      // A namespace of the identity catalog that has the name of a tenant.
      await insertEntities(connection, DEFAULT_TENANT_ID, [
        {
          apiVersion: 'backstage.io/v1alpha1',
          kind: 'User',
          metadata: { name: 'known', namespace: 'acme' },
          spec: { memberOf: [] },
        },
      ]);
      const taken = takeServices({
        members: tenantMemberStoreServiceRef,
        signIns: tenantSignInStoreServiceRef,
        trail: tenantAuditTrailServiceRef,
      });
      backend = await startCatalogBackend({
        connection,
        enabled: true,
        features: [
          authServiceFactory,
          httpAuthServiceFactory,
          userInfoServiceFactory,
          authBackend,
          tenantSignIn,
          taken.feature,
        ],
        config: {
          auth: {
            session: { secret: 'only for tests' },
            providers: { tenant: { callbackUrl: CALLBACK } },
          },
          backend: {
            reading: {
              allow: Object.values(issuers).map(issuer => ({
                host: new URL(issuer).host,
              })),
            },
          },
          tenancy: {
            membership: 'required',
            membershipOfDefault: 'members',
            admins: ['user:acme/root'],
            tenants: Object.fromEntries(
              ['acme', 'globex', 'initech'].map(tenant => [
                tenant,
                { secrets: ['SIGN_IN_TEST_SECRET'] },
              ]),
            ),
          },
        },
      });
      ({ members, signIns, trail } = taken.services);
      for (const tenant_slug of ['acme', 'globex', 'initech']) {
        await backend.tenants.create({ tenant_slug, tenant_name: tenant_slug });
      }
    });
    // The auth backend deletes expired sessions each minute, also after its stop: without a database
    // it then fails the test that this process runs by that time, whichever that is.
    const timeouts = jest.spyOn(global, 'setTimeout');
    afterAll(async () => {
      providers.forEach(each => each.stop());
      await backend?.stop();
      timeouts.mock.results.forEach(({ value }) => clearTimeout(value));
    });
    beforeEach(async () => {
      await put('acme');
      await put('globex');
      for (const tenant of ['acme', 'globex']) {
        for (const { principal } of (await members.list(tenant)).items) {
          await members.remove(tenant, principal);
        }
      }
    });

    it('signs in as a user of the namespace of the tenant, who becomes a member there', async () => {
      const browser = open();
      const answer = await browser.signIn('acme', 'jane');
      expect(userOf(answer)).toBe('user:acme/jane');
      for (const name of ['tenant-nonce', 'tenant-refresh-token']) {
        expect(browser.given.find(each => each.startsWith(name))).toMatch(
          /; Path=\/api\/auth\/tenant[;/].*; HttpOnly; SameSite=Lax/,
        );
      }
      const { backstageIdentity, profile, providerInfo } = answer.response;
      expect(backstageIdentity.identity.ownershipEntityRefs).toEqual([
        'user:acme/jane',
      ]);
      expect(profile).toEqual({
        displayName: 'Jane Doe',
        email: 'jane@acme.example',
      });
      // No token of the provider reaches a page.
      expect(providerInfo.accessToken).toBe('');
      expect(providerInfo.idToken).toBeUndefined();
      expect(await roleOf('acme', 'user:acme/jane')).toBe('viewer');
      expect(await roleOf('globex', 'user:acme/jane')).toBeUndefined();
      // Once.
      await browser.signIn('acme', 'jane');
      const { items } = await trail.list('acme', { event: 'join' });
      expect(items).toMatchObject([
        {
          plugin: 'auth',
          event: 'join-tenant',
          outcome: 'succeeded',
          meta: { principal: 'user:acme/jane', role: 'viewer' },
        },
      ]);

      const list = (tenant: string) =>
        browser.send('http://localhost:0/api/catalog/entities', {
          headers: {
            authorization: `Bearer ${backstageIdentity.token}`,
            'x-tenant-slug': tenant,
          },
        });
      expect((await list('acme')).status).toBe(200);
      for (const other of ['globex', 'initech', 'default']) {
        expect((await list(other)).status).toBe(403);
      }
    });

    it('keeps the people of two tenants apart who have the same name at their providers', async () => {
      const browser = open();
      expect(userOf(await browser.signIn('globex', 'jane'))).toBe(
        'user:globex/jane',
      );
      expect(userOf(await browser.signIn('acme', 'jane'))).toBe(
        'user:acme/jane',
      );
    });

    it.each(['initech', 'none', 'default', "x'--"])(
      'has none for %j, in the same words',
      async tenant => {
        await expect(open().start(tenant)).rejects.toThrow(
          'This tenant has no sign-in of its own',
        );
      },
    );

    it.each(['', 'acme&tenant=globex'])(
      'is for one tenant, and not for "%s"',
      async tenants => {
        await expect(open().start(tenants)).rejects.toThrow(
          'The query has to name one tenant',
        );
      },
    );

    it.each([
      ['&origin=https://evil.example', 'is not allowed'],
      [`&origin=${APP}&origin=https://evil.example`, 'invalid'],
      ['', 'This tenant has no sign-in'],
    ])(
      'tells no page of another origin why it can not begin: %s',
      async (origin, problem) => {
        const { text: page } = await open().send(
          `http://localhost:0/api/auth/tenant/start?env=development&tenant=none${origin}`,
        );
        expect(toldBy(page).error.message).toMatch(problem);
        expect(page).toContain(`'${encodeURIComponent(APP)}'`);
      },
    );

    it('goes on with a session, and ends it at once with the member, the provider, or a sign-out', async () => {
      const browser = open();
      await browser.signIn('acme', 'jane');
      expect(userOf(await browser.refresh('acme'))).toBe('user:acme/jane');

      await members.remove('acme', 'user:acme/jane');
      expect(userOf(await browser.refresh('acme'))).toMatch('Refresh failed');
      expect(await roleOf('acme', 'user:acme/jane')).toBeUndefined();

      await browser.signIn('acme', 'jane');
      await signIns.remove('acme');
      expect(userOf(await browser.refresh('acme'))).toMatch('Refresh failed');
      await put('acme');
      expect(userOf(await browser.refresh('acme'))).toBe('user:acme/jane');

      const jar = browser.cookies.get('localhost:0')!;
      const kept = [...jar];
      expect(await browser.signOut('acme')).toBe(200);
      expect(userOf(await browser.refresh('acme'))).toMatch('Refresh failed');
      // Nor by a cookie that somebody has copied.
      kept.forEach(([name, value]) => jar.set(name, value));
      expect(userOf(await browser.refresh('acme'))).toMatch('Refresh failed');
    });

    it('sends the session of one tenant to no provider of another', async () => {
      const browser = open();
      await browser.signIn('acme', 'jane');
      await put('globex', { issuer: issuers.acme });
      expect(userOf(await browser.refresh('globex'))).toMatch(
        'The session is of another provider',
      );
      // The same where the tenant changes its provider.
      await put('acme', { issuer: issuers.globex });
      expect(userOf(await browser.refresh('acme'))).toMatch(
        'The session is of another provider',
      );
      await put('acme', { client_id: 'another' });
      expect(userOf(await browser.refresh('acme'))).toMatch(
        'The session is of another provider',
      );
    });

    it('gives roles by groups, at each sign-in', async () => {
      const roles = { staff: 'member', bosses: 'admin' } as const;
      await put('acme', { roles, auto_join: undefined });
      await open().signIn('acme', 'boss');
      expect(await roleOf('acme', 'user:acme/boss')).toBe('admin');
      await open().signIn('acme', 'jane');
      expect(await roleOf('acme', 'user:acme/jane')).toBe('member');
      expect(userOf(await open().signIn('acme', 'guest'))).toBe(
        'You are not a member of this tenant',
      );
      await put('acme', { roles: { staff: 'viewer' } });
      await open().signIn('acme', 'jane');
      expect(await roleOf('acme', 'user:acme/jane')).toBe('viewer');
      // The last admin stays one.
      await open().signIn('acme', 'boss');
      expect(await roleOf('acme', 'user:acme/boss')).toBe('admin');
      const { items } = await trail.list('acme', { outcome: 'failed' });
      expect(items).toMatchObject([{ meta: { principal: 'user:acme/boss' } }]);
    });

    it('lets in verified addresses of its domains alone', async () => {
      await put('acme', { allowed_domains: ['acme.example'] });
      expect(userOf(await open().signIn('acme', 'jane'))).toBe(
        'user:acme/jane',
      );
      for (const account of ['unverified', 'guest']) {
        expect(userOf(await open().signIn('acme', account))).toMatch(
          'verified no address',
        );
      }
    });

    it.each(['user:default/admin', 'root', 'known'])(
      'makes nobody of another namespace, an administrator, or somebody of the identity catalog: %s',
      async account => {
        const answer = await open().signIn('acme', account);
        expect(answer.response).toBeUndefined();
        expect(userOf(answer)).toMatch(
          /is not the name of a user|knows user:acme\/\w+ as somebody else/,
        );
        expect((await members.list('acme')).items).toEqual([]);
      },
    );

    it('refuses a stolen state, in another browser and for another tenant', async () => {
      const victim = open();
      const callback = await victim.signInAt(
        await victim.start('acme'),
        'jane',
      );
      expect(userOf(await open().finish(callback))).toMatch('nonce');
      const attacker = open();
      await attacker.start('acme');
      expect(userOf(await attacker.finish(callback))).toBe('Invalid nonce');

      const other = new URL(callback);
      other.searchParams.set('tenant', 'globex');
      expect(userOf(await victim.finish(other))).toBe(
        'The answer is for another tenant',
      );
      expect(userOf(await victim.finish(callback))).toBe('user:acme/jane');
      // Once.
      expect(userOf(await victim.finish(callback))).not.toBe('user:acme/jane');
    });

    it('gives a code of one provider to no other, where that leads the browser on', async () => {
      const victim = open();
      // The provider of globex sends the browser to that of acme, with its own state.
      const toGlobex = await victim.start('globex');
      const toAcme = await open().start('acme');
      toAcme.searchParams.set('state', toGlobex.searchParams.get('state')!);
      const callback = await victim.signInAt(toAcme, 'jane');
      expect(userOf(await victim.finish(callback))).toBe(
        'The answer is for another tenant',
      );
      // And acme's takes no other redirect URL.
      toAcme.searchParams.set('redirect_uri', `${CALLBACK}?tenant=globex`);
      await expect(victim.signInAt(toAcme, 'jane')).rejects.toThrow(
        'redirect_uri',
      );
    });

    it('takes a code of another attempt for nothing', async () => {
      const victim = open();
      const stolen = (
        await victim.signInAt(await victim.start('acme'), 'jane')
      ).searchParams.get('code')!;
      const attacker = open();
      const callback = await attacker.signInAt(
        await attacker.start('acme'),
        'guest',
      );
      callback.searchParams.set('code', stolen);
      expect(userOf(await attacker.finish(callback))).toBe(
        'The provider of this tenant answers: invalid_grant',
      );
      // Nor are words that somebody has put in place of a code of an error shown.
      callback.searchParams.set('error', 'Call 555-0100');
      expect(userOf(await attacker.finish(callback))).toBe(
        "The provider of this tenant can't be used at the moment. Try again later",
      );
    });

    it('connects to no provider inside of the network that the operator has not listed', async () => {
      for (const [issuer, problem] of [
        ['http://id.example.com', 'reached by https'],
        ['https://127.0.0.1:1', "can't be used"],
        ['https://169.254.169.254', "can't be used"],
        ['https://localhost:1', "can't be used"],
      ]) {
        await put('acme', { issuer });
        await expect(open().start('acme')).rejects.toThrow(problem);
      }
    });

    it('takes a secret that the operator has not given the tenant for none', async () => {
      await put('acme', { client_secret: '${PATH}' });
      await expect(open().start('acme')).rejects.toThrow(
        'the variable PATH does not belong to this tenant',
      );
    });
  },
);
