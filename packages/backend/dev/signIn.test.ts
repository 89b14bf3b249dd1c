import { randomUUID } from 'crypto';
import { mkdtemp, rm, writeFile } from 'fs/promises';
import { tmpdir } from 'os';
import { join } from 'path';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import {
  type OpenIdProvider,
  startOpenIdProvider,
} from '@internal/catalog-testing/startOpenIdProvider';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { freePort } from '@internal/postgres';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { type Answer, Browser } from './__fixtures__/Browser';
import {
  operatorAccess,
  productionPortal,
} from './__fixtures__/productionPortal';
import { type RunningBackend, startBackend, untilReady } from './deployment';

// The backend of production with app-config.oidc.yaml, behind a proxy that ends TLS, and a
// real OpenID provider.

const DOMAIN = 'portal.example.com';
const PORTAL = `https://${DOMAIN}`;
const ACME = `https://acme.${DOMAIN}`;
const INITECH = `https://initech.${DOMAIN}`;
const OIDC = `${PORTAL}/api/auth/oidc`;
const REFRESH = `${OIDC}/refresh?optional&env=production`;
const AS_SCRIPT = { 'x-requested-with': 'XMLHttpRequest' };
const JANE = 'user:default/jane';
const REFUSED = '{"error":"Invalid tenant"}';

const CLIENT = { clientId: 'portal', clientSecret: randomUUID() };
const ADMIN_TOKEN = randomUUID();
const SESSION_SECRET = randomUUID();

/** What the default tenant knows of people. */
const ORG = [
  user('jane', ['staff']),
  {
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Group',
    metadata: { name: 'staff' },
    spec: { type: 'team', children: [] },
  },
];

function user(name: string, memberOf: string[], email = name) {
  return {
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'User',
    metadata: { name, namespace: 'default' },
    spec: { profile: { email: `${email}@example.com` }, memberOf },
  };
}

const databases = createTestDatabases({ versions: 'newest' });
const [id] = databases.eachSupportedId().map(([name]) => name);

let folder: string;
let provider: OpenIdProvider;
let backend: RunningBackend;
let port: number;

const accountOf = (name: string) => ({
  name,
  email: `${name}@example.com`,
  email_verified: name !== 'unverified',
});

function startProvider() {
  return startOpenIdProvider({
    ...CLIENT,
    redirectUri: `${OIDC}/handler/frame`,
    accounts: Object.fromEntries(
      ['jane', 'mallory', 'unverified'].map(name => [name, accountOf(name)]),
    ),
  });
}

async function startPortal(issuer: string) {
  const connection = await createTenancyDatabase(databases, id);
  const org = join(folder, 'org.yaml');
  await writeFile(
    org,
    ORG.map(entity => JSON.stringify(entity)).join('\n---\n'),
  );
  port = await freePort('localhost');
  backend = await startBackend({
    port,
    ...productionPortal({
      connection,
      configs: ['app-config.production.yaml', 'app-config.oidc.yaml'],
      env: {
        APP_BASE_URL: PORTAL,
        BACKEND_BASE_URL: PORTAL,
        TENANCY_BASE_DOMAIN: DOMAIN,
        AUTH_SESSION_SECRET: SESSION_SECRET,
        LOG_LEVEL: 'debug',
        AUTH_OIDC_METADATA_URL: `${issuer}/.well-known/openid-configuration`,
        AUTH_OIDC_CLIENT_ID: CLIENT.clientId,
        AUTH_OIDC_CLIENT_SECRET: CLIENT.clientSecret,
      },
      settings: {
        ...operatorAccess(ADMIN_TOKEN),
        catalog_rules: [{ allow: ['User', 'Group'] }],
        catalog_locations: [{ type: 'file', target: org }],
      },
    }),
  });
  await untilReady(backend);
  return connection;
}

const operate = async (method: string, path: string, body?: object) => {
  const response = await fetch(`${backend.baseUrl}/api/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${ADMIN_TOKEN}`,
      'content-type': 'application/json',
    },
    body: body && JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Error(`${method} ${path}: ${await response.text()}`);
  }
  return response.json();
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sign-in-test-'));
  provider = await startProvider();
  const connection = await startPortal(provider.issuer);
  for (const slug of ['acme', 'initech']) {
    const { tenant_id } = await operate('POST', 'tenants', {
      tenant_slug: slug,
      tenant_name: slug,
    });
    // The same address in a catalog that the tenant writes.
    await insertEntities(connection, tenant_id, [user('mallory', [], 'jane')]);
  }
  const member = encodeURIComponent('group:default/staff');
  await operate('PUT', `tenants/acme/members/${member}`, { role: 'member' });
  await waitUntil('the user and the group to be in the catalog', async () => {
    const found = await operate(
      'GET',
      'catalog/entities?filter=kind=user,relations.memberof=group:default/staff',
    );
    return found.length === 1;
  });
});

afterAll(async () => {
  provider?.stop();
  await backend?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** What the window of the sign-in says to the page that has opened it. */
function messageTo(origin: string, { text }: Answer) {
  const [message, target] = ['authResponse', 'origin'].map(name => {
    const [, value] =
      new RegExp(`var ${name} = decodeURIComponent\\('(.*)'\\)`).exec(text) ??
      [];
    return decodeURIComponent(value ?? `no ${name} in ${text}`);
  });
  // Browsers give a message to a page of that origin, and to no other.
  expect(target).toBe(origin);
  return JSON.parse(message);
}

const startUrl = (origin: string, at = OIDC) =>
  `${at}/start?${new URLSearchParams({
    env: 'production',
    origin,
    scope: 'openid profile email',
    flow: 'popup',
  })}`;

/** Signs in, in the window that a page has opened. */
async function signIn(
  browser: Browser,
  origin: string,
  { login = 'jane', at = OIDC } = {},
): Promise<Answer> {
  let page = await browser.open(startUrl(origin, at));
  while (page.text.includes('<form')) {
    page = await browser.submit(page, { login, password: 'any' });
  }
  return page;
}

const refresh = (browser: Browser, page: string) =>
  browser.fetch(page, REFRESH, { headers: AS_SCRIPT });

const tokenIn = (answer: Answer): string =>
  JSON.parse(answer.text).backstageIdentity.token;

const entities = (browser: Browser, page: string, token: string) =>
  browser.fetch(page, `${page}/api/catalog/entities`, {
    headers: { authorization: `Bearer ${token}` },
  });

const namesIn = ({ status, text }: Answer): string[] => {
  expect(status).toBe(200);
  return JSON.parse(text).map(
    ({ metadata }: { metadata: { name: string } }) => metadata.name,
  );
};

describe('signing in by an OpenID provider', () => {
  let browser: Browser;
  beforeEach(() => {
    browser = new Browser({ backendPort: port });
  });

  it.each([
    ['the portal', PORTAL, 'Lax'],
    ['a tenant', ACME, 'None'],
  ])('works at the hostname of %s', async (_name, origin, sameSite) => {
    const end = await signIn(browser, origin);
    expect(`${end.url.origin}${end.url.pathname}`).toBe(
      `${OIDC}/handler/frame`,
    );
    const { response } = messageTo(origin, end);
    expect(response.backstageIdentity.identity.userEntityRef).toBe(JANE);
    expect(end.setCookies).toContainEqual(
      expect.stringMatching(
        new RegExp(
          `^oidc-refresh-token=[^;]+;.* Path=/api/auth/oidc;.* HttpOnly; Secure; SameSite=${sameSite}$`,
        ),
      ),
    );
  });

  it('at one hostname is signing in at all of the portal, without another form', async () => {
    await signIn(browser, ACME);
    for (const page of [ACME, INITECH, PORTAL]) {
      const { status, text } = await refresh(browser, page);
      expect(status).toBe(200);
      const { identity } = JSON.parse(text).backstageIdentity;
      expect(identity.userEntityRef).toBe(JANE);
    }
  });

  it('makes the user one of the default tenant, whose groups enter tenants', async () => {
    await signIn(browser, ACME);
    const token = tokenIn(await refresh(browser, ACME));
    expect(namesIn(await entities(browser, PORTAL, token))).toContain('jane');
    // Beside the tenant's members, once its engine has brought them.
    expect(namesIn(await entities(browser, ACME, token))).toContain('mallory');
    const initech = await entities(browser, INITECH, token);
    expect([initech.status, initech.text]).toEqual([403, REFUSED]);
  });

  it('ends at all hostnames by signing out at one, and with it the refresh token', async () => {
    await signIn(browser, ACME);
    const cookie = await browser.cookies(OIDC);
    expect(cookie).toContain('oidc-refresh-token=');
    const { status } = await browser.fetch(
      INITECH,
      `${OIDC}/logout?env=production`,
      { method: 'POST', headers: AS_SCRIPT },
    );
    expect(status).toBe(200);
    expect((await refresh(browser, ACME)).status).toBe(401);
    const withCopy = await browser.fetch(PORTAL, REFRESH, {
      headers: { ...AS_SCRIPT, cookie },
    });
    expect(withCopy.status).toBe(401);
    expect(withCopy.text).toContain('invalid_grant');
  });

  it('fails where the page calls the auth plugin at the hostname of its tenant', async () => {
    const end = await signIn(browser, ACME, {
      at: `${ACME}/api/auth/oidc`,
    });
    expect(messageTo(ACME, end).error.message).toBe(
      'Auth response is missing cookie nonce',
    );
  });

  it.each([
    ['whom the default tenant does not know', 'mallory', /user identity/],
    ['whose address is not verified', 'unverified', /not contain an email/],
  ])('refuses a user %s', async (_name, login, message) => {
    const end = await signIn(browser, ACME, { login });
    expect(messageTo(ACME, end).error.message).toMatch(message);
    expect((await refresh(browser, ACME)).status).toBe(401);
  });

  describe.each([
    'https://acme.example.org',
    `https://${DOMAIN}.example.org`,
    `https://example.org/.${DOMAIN}`,
    `https://x.acme.${DOMAIN}`,
    `http://acme.${DOMAIN}`,
    `${ACME}:8443`,
  ])('for a page of %s', page => {
    it('does not start', async () => {
      const { status, text } = await browser.open(startUrl(page));
      expect(status).toBe(403);
      expect(text).toContain('is not allowed');
    });

    it('ends without a token, where a sign-in has its origin put in', async () => {
      const state = new URLSearchParams({
        env: 'production',
        nonce: 'any',
        origin: page,
      });
      const end = await browser.open(
        `${OIDC}/handler/frame?code=any&state=${Buffer.from(
          `${state}`,
        ).toString('hex')}`,
      );
      expect(messageTo(new URL(page).origin, end)).toEqual({
        type: 'authorization_response',
        error: expect.objectContaining({ name: 'NotAllowedError' }),
      });
    });

    it('gives it no token later either', async () => {
      await signIn(browser, ACME);
      await expect(refresh(browser, page)).rejects.toThrow(/CORS/);
    });
  });

  it('opens no catalog at a hostname of another domain', async () => {
    await signIn(browser, ACME);
    const token = tokenIn(await refresh(browser, ACME));
    const answer = await entities(browser, 'https://acme.example.org', token);
    expect([answer.status, answer.text]).toEqual([403, REFUSED]);
  });

  it('shows no secret in the log, with all that there is for debugging', async () => {
    await signIn(browser, ACME);
    const answer = await refresh(browser, ACME);
    const { providerInfo, backstageIdentity } = JSON.parse(answer.text);
    const [, cookie] = /oidc-refresh-token=([^;]+)/.exec(
      await browser.cookies(OIDC),
    )!;
    const log = backend.log();
    expect(log).toContain('debug');
    const secrets = [
      ...[CLIENT.clientSecret, ADMIN_TOKEN, SESSION_SECRET, cookie],
      ...[providerInfo.idToken, providerInfo.accessToken],
      backstageIdentity.token,
    ];
    for (const secret of secrets) {
      expect(secret).toMatch(/^\S{20,}$/);
      expect(log.includes(secret)).toBe(false);
    }
  });
});
