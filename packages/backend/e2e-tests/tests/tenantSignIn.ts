import { randomUUID } from 'crypto';
import type { Locator, Page } from 'playwright-core';
import {
  type OpenIdProvider,
  startOpenIdProvider,
} from '@internal/catalog-testing/startOpenIdProvider';
import type { VisitOptions } from '../harness/Chromium';
import { inBrowser, type Scene, part } from '../harness/inBrowser';
import type { PortalOptions } from '../harness/Portal';
import type { Visitor } from '../harness/Visitor';

const CLIENT = { clientId: 'portal', clientSecret: randomUUID() };
const SECRET = 'SIGN_IN_SECRET';
/** Whose tenants have providers. */
const WITH_PROVIDER = ['acme', 'initech'];
const BUTTON = 'Continue with your organization';

const issuers: Record<string, string> = {};
const providers: OpenIdProvider[] = [];

/** A portal whose tenants may bring providers, at hostnames that are one site to a browser. */
export const TENANT_SIGN_IN: PortalOptions = {
  domain: 'portal.localhost',
  async env(url) {
    for (const tenant of WITH_PROVIDER) {
      const provider = await startOpenIdProvider({
        ...CLIENT,
        redirectUri: `${url}/api/auth/tenant/handler/frame?tenant=${tenant}`,
        accounts: { jane: { name: 'jane' } },
      });
      providers.push(provider);
      issuers[tenant] = provider.issuer;
    }
    const { host } = new URL(url);
    const origins = [url, `http://+([a-z0-9-]).${host}`];
    const config = {
      backend_csp: { 'connect-src': ["'self'", url] },
      backend_cors_origin: origins,
      tenancy_engines_allow: Object.values(issuers).map(issuer => ({
        host: new URL(issuer).host,
      })),
      discovery_endpoints: [
        {
          plugins: ['auth'],
          target: { external: `${url}/api/{{pluginId}}` },
        },
      ],
      auth_experimentalExtraAllowedOrigins: origins.slice(1),
      auth_session_secret: randomUUID(),
      auth_providers_tenant: {},
      tenancy_baseDomains: ['portal.localhost', 'localhost'],
      tenancy_membershipOfDefault: 'members',
      ...Object.fromEntries(
        WITH_PROVIDER.map(tenant => [
          `tenancy_tenants_${tenant}_secrets`,
          [SECRET],
        ]),
      ),
    };
    return {
      [SECRET]: CLIENT.clientSecret,
      ...Object.fromEntries(
        Object.entries(config).map(([key, value]) => [
          `APP_CONFIG_${key}`,
          JSON.stringify(value),
        ]),
      ),
    };
  },
};

/** People whom a provider of their tenant signs in. */
export function testTenantSignIn(): void {
  part('the provider of a tenant', () => {
    afterAll(() => providers.forEach(provider => provider.stop()));

    inBrowser('is added on the page of members', async scene => {
      const admin = await visitAt(scene, { at: 'acme', as: 'guest' });
      const { page } = admin;
      await admin.open('/tenants/acme/members');
      await page.getByRole('button', { name: 'Add a provider…' }).click();
      const dialog = page.getByRole('dialog');
      const field = (name: RegExp) => dialog.getByRole('textbox', { name });
      await field(/^Issuer/).fill(issuers.acme);
      await field(/^Client ID/).fill(CLIENT.clientId);
      await field(/^Reference/).fill(CLIENT.clientSecret);
      await field(/^Claim with the name/).fill('name');
      await dialog
        .getByRole('button', { name: /Role of people who sign in first/ })
        .click();
      await page.getByRole('option', { name: 'Viewer' }).click();
      admin.expectProblem(/status of 400/);
      const save = dialog.getByRole('button', { name: 'Save' });
      await save.click();
      await dialog.getByText(/^client_secret must be/).waitFor();
      await admin.expectAccessibleAsIs();
      await field(/^Reference/).fill(`\${${SECRET}}`);
      await save.click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByText(issuers.acme).waitFor();
      await admin.expectAccessible();
      await page.getByRole('button', { name: 'Remove the provider…' }).click();
      await dialog.waitFor();
      await admin.expectAccessibleAsIs();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    });

    inBrowser('signs people in at the hostname of its tenant', async scene => {
      await addProvider(scene, 'initech');
      const visitor = await visitAt(scene, { at: 'acme' });
      await visitor.page.goto('/');
      const first = visitor.page.getByRole('button').first();
      await first.waitFor();
      expect(await first.textContent()).toBe(BUTTON);
      await visitor.expectAccessible();

      await signInAt(scene, visitor, 'acme');
      await visitor.page.getByRole('link', { name: 'Routes' }).waitFor();
      await expectUser(scene, visitor, 'acme');

      // The same person at another provider is somebody else.
      await signInAt(scene, visitor, 'initech');
      await visitor.page.getByRole('link', { name: 'TPS reports' }).waitFor();
      await expectUser(scene, visitor, 'initech');

      // A browser has one of these sessions.
      await visitor.open(scene.portal.url('acme'));
      await visitor.page.getByRole('button', { name: BUTTON }).waitFor();
    });

    inBrowser('is none for a tenant without one', async scene => {
      await scene.portal.createTenant({
        slug: 'hooli',
        name: 'Hooli',
        component: 'nucleus',
      });
      const { page } = await visitAt(scene, { at: 'hooli' });
      await page.goto('/');
      const opened = page.waitForEvent('popup');
      await page.getByRole('button', { name: BUTTON }).click();
      // The window says so to the page, and closes.
      const popup = await opened;
      await page.getByText('Signing in failed').waitFor();
      await page.getByText('This tenant has no sign-in of its own').waitFor();
      if (!popup.isClosed()) {
        await popup.waitForEvent('close');
      }
    });

    inBrowser('signs nobody in any more who has signed out', async scene => {
      const visitor = await visitAt(scene, { at: 'acme' });
      await signInAt(scene, visitor, 'acme');
      await visitor.page.getByRole('link', { name: 'Routes' }).waitFor();
      await visitor.open('/settings');
      await visitor.page.getByTestId('user-settings-menu').click();
      await visitor.page.getByTestId('sign-out').click();
      const button = visitor.page.getByRole('button', { name: BUTTON });
      await button.waitFor();
      await visitor.open('/');
      await button.waitFor();
    });

    inBrowser('keeps nobody in who was removed', async scene => {
      const visitor = await visitAt(scene, { at: 'acme' });
      await signInAt(scene, visitor, 'acme');
      const { page } = visitor;
      await page.getByRole('link', { name: 'Routes' }).waitFor();
      await visitor.untilQuiet();
      const member = encodeURIComponent('user:acme/jane');
      await scene.portal.call('guest', `tenants/acme/members/${member}`, {
        method: 'DELETE',
      });
      visitor.expectProblem(/status of 403/, /Invalid tenant/);
      await page.getByRole('link', { name: 'APIs' }).click();
      await page
        .getByRole('heading', { name: 'You can no longer enter Acme' })
        .waitFor();
      // The session ends when it is refreshed.
      await visitor.open('/');
      await page.getByRole('button', { name: BUTTON }).waitFor();
    });
  });
}

/** Somebody whose browser may have no session of the tenant, which Backstage finds out by asking. */
async function visitAt(scene: Scene, options: VisitOptions): Promise<Visitor> {
  const visitor = await scene.visit(options);
  visitor.expectProblem(/status of 401 .*\/api\/auth\/tenant\/refresh/);
  return visitor;
}

async function addProvider({ portal }: Scene, tenant: string): Promise<void> {
  await portal.call('guest', `tenants/${tenant}/sign-in`, {
    method: 'PUT',
    body: {
      issuer: issuers[tenant],
      client_id: CLIENT.clientId,
      client_secret: `\${${SECRET}}`,
      name_claim: 'name',
      auto_join: 'viewer',
    },
  });
}

/** Whether something is there, unless the window closes before. */
const isShown = (target: Locator, closed: Promise<boolean>) =>
  Promise.race([
    target.waitFor().then(
      () => true,
      () => false,
    ),
    closed,
  ]);

/** Signs in as Jane, in the window of the provider, which may know her from before. */
async function signInAt(
  { portal }: Scene,
  visitor: Visitor,
  tenant: string,
): Promise<void> {
  const { page } = visitor;
  await visitor.open(`${portal.url(tenant)}/?filters[user]=all`);
  const opened = page.waitForEvent('popup');
  await page.getByRole('button', { name: BUTTON }).click();
  const popup = await opened;
  const closed = popup.waitForEvent('close').then(() => false);
  const login = popup.locator('[name=login]');
  if (await isShown(login, closed)) {
    await login.fill('jane');
    await popup.locator('[name=password]').fill('any');
    await popup.locator('[type=submit]').click();
    await login.waitFor({ state: 'detached' });
    await popup.getByRole('button', { name: 'Continue' }).click();
  }
  await closed;
}

const ownLink = (page: Page, tenant: string) =>
  page.locator(`a[href*="/catalog/${tenant}/user/jane"]`).first();

/** A page of the person is there, and says who that is. */
async function expectUser(
  { portal }: Scene,
  visitor: Visitor,
  tenant: string,
): Promise<void> {
  await visitor.untilQuiet();
  await visitor.open(`${portal.url(tenant)}/settings`);
  await ownLink(visitor.page, tenant).click();
  await visitor.page.getByRole('heading', { name: /jane/ }).first().waitFor();
  await visitor.expectNothingForeign(tenant);
}
