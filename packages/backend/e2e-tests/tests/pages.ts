import type { Page } from 'playwright-core';
import { waitUntil } from '@internal/postgres/testUtils';
import { inBrowser } from '../harness/inBrowser';
import type { Portal, User } from '../harness/Portal';
import { add, item, save } from './mockups';

const TENANT = 'glance';
const PATH = '/pages/glance';
const LAMP = 'component:default/lamp';
const PHONE = { width: 390, height: 740 };

/** What shows something by itself, and what is typed for it. */
const LIVE: [component: string, field?: string, text?: string][] = [
  ['Number of entities'],
  ['Entity table'],
  ['Entity cards'],
  ['Chart of entities'],
  ['Entity', 'Entity', LAMP],
  ['Relations', 'Entity', LAMP],
  ['Markdown', 'Text', 'Typed by hand'],
  ['Search results', 'What to search', 'lamp'],
  ['Starred entities'],
  ['Notifications'],
  ['Recently visited'],
];

/** The pages that mockups become, for those who make, read and do not reach them. */
export function testPages(): void {
  describe('pages', () => {
    inBrowser(
      'an empty mockup becomes a home with live data, which is taken back',
      async ({ portal, visit }) => {
        await portal.createTenant({
          slug: TENANT,
          name: 'Glance',
          component: 'lamp',
          members: ['user:default/anna'],
        });
        await setRole(portal, 'anna', 'admin');
        await portal.notify(TENANT, 'user:default/anna', 'The lamp is on');
        await portal.untilSearchFinds(TENANT, 'lamp');

        const designer = await visit({ at: TENANT, as: 'anna', width: 1300 });
        designer.traffic.expect([TENANT]);
        const { page } = designer;
        await designer.open('/mockups');
        await page
          .getByRole('button', { name: 'Create mockup' })
          .first()
          .click();
        await page.getByRole('textbox', { name: 'Name' }).fill('Glance');
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        await page.getByRole('listbox', { name: 'Canvas' }).waitFor();
        for (const [component, field, text] of LIVE) {
          await page
            .getByRole('button', { name: `Add ${component}`, exact: true })
            .click();
          await item(page, new RegExp(`^${component}`))
            .first()
            .waitFor();
          if (field && text) {
            await page.getByRole('textbox', { name: field }).fill(text);
          }
        }
        await fillSection(page);
        await leaveOutOnPhones(page);
        await publishAsHome(page);
        await designer.expectAccessible();

        // No member yet.
        expect(await statusFor(portal, 'peter')).toBe(403);
        await setRole(portal, 'peter', 'viewer');
        const reader = await visit({ at: TENANT, as: 'peter', ...PHONE });
        reader.traffic.expect([TENANT]);
        await reader.open('/');
        await reader.page.getByText('What lamp does').first().waitFor();
        expect(new URL(reader.page.url()).pathname).toBe(PATH);
        for (const [who, text] of [
          [designer, 'The lamp is on'],
          [reader, 'There is nothing to show.'],
        ] as const) {
          await who.open(PATH);
          await who.page.getByText('What lamp does').first().waitFor();
          await who.page.getByText('Typed by hand').waitFor();
          await who.page.getByText('Text of the page.').waitFor();
          expect(await who.page.locator('[data-item^=image]').isVisible()).toBe(
            who === designer,
          );
          await who.page.getByText(text).first().waitFor();
          await who.untilQuiet();
          await expectNothingFailed(who.page);
        }
        expect(await reader.page.getByText('The lamp is on').count()).toBe(0);
        expect(await reader.page.getByText('Published by').count()).toBe(0);
        await reader.expectNoSidewaysScroll();
        await reader.expectAccessible();

        // What is saved later is seen once it is put there, and what has changed at once.
        await designer.open(PATH);
        await page.getByRole('link', { name: 'Versions of' }).click();
        await page.getByRole('link', { name: 'Open in the editor' }).click();
        await add(page, 'Header');
        await save(page);
        portal.sources.serveEntities(`/${TENANT}.yaml`, [
          {
            kind: 'Component',
            metadata: { name: 'lamp', description: 'It is bright now' },
            spec: { type: 'service', lifecycle: 'production', owner: 'guests' },
          },
        ]);
        await waitUntil('the new description', async () => {
          await portal.request('guest', 'catalog/refresh', {
            method: 'POST',
            tenant: TENANT,
            body: { entityRef: LAMP },
          });
          const path = 'catalog/entities/by-name/component/default/lamp';
          const entity = await portal.call('guest', path, { tenant: TENANT });
          return JSON.stringify(entity).includes('bright');
        });
        await reader.page.reload();
        await reader.page.getByText('It is bright now').first().waitFor();
        expect(
          await reader.page.getByRole('heading', { name: 'Header' }).count(),
        ).toBe(0);
        await page.getByRole('link', { name: 'Versions' }).click();
        await page.getByRole('button', { name: /^Put/ }).click();
        await page.getByText('On the page', { exact: true }).waitFor();
        await designer.untilQuiet();
        await reader.page.reload();
        await reader.page.getByRole('heading', { name: 'Header' }).waitFor();

        await page.getByRole('button', { name: /^Take the page/ }).click();
        await page.getByText(/The page glance is gone/).waitFor();
        reader.expectProblem(/status of 404/);
        await reader.page.reload();
        await reader.page.getByText('There is no such page').waitFor();
        expect(await statusFor(portal, 'peter')).toBe(404);
        // Other tests rely on what Anna and Peter may enter.
        await portal.call('guest', `tenants/${TENANT}`, { method: 'DELETE' });
      },
    );
  });
}

/** Puts a text into a section, by the keyboard. */
async function fillSection(page: Page): Promise<void> {
  await add(page, 'Section');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('navigation', { name: 'Where you are' }).waitFor();
  await add(page, 'Text');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await item(page, /^Section/).waitFor();
}

/** Adds an image that phones do not show. */
async function leaveOutOnPhones(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add Image' }).click();
  await page.getByText('Phone', { exact: true }).click();
  await page.getByText('Image', { exact: true }).last().click();
  await page.getByText('Edit', { exact: true }).click();
}

async function publishAsHome(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Publish' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Make it the home page').click();
  await dialog.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('link', { name: 'Open the page' }).waitFor();
}

async function setRole(portal: Portal, user: User, role: string) {
  await portal.call(
    'guest',
    `tenants/${TENANT}/members/user:default%2F${user}`,
    {
      method: 'PUT',
      body: { role },
    },
  );
}

async function statusFor(portal: Portal, user: User): Promise<number> {
  const path = 'mockup/pages/glance';
  return (await portal.request(user, path, { tenant: TENANT })).status;
}

async function expectNothingFailed(page: Page): Promise<void> {
  expect(await page.locator('[role=alert]:visible').allInnerTexts()).toEqual(
    [],
  );
}
