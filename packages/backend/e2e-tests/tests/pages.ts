import { readFile } from 'fs/promises';
import type { Locator, Page } from 'playwright-core';
import { waitUntil } from '@internal/postgres/testUtils';
import { inBrowser, part } from '../harness/inBrowser';
import type { Portal, User } from '../harness/Portal';
import type { Visitor } from '../harness/Visitor';
import { add, item, save } from './mockups';

const TENANT = 'glance';
const PATH = '/pages/glance';
const LAMP = 'component:default/lamp';
const DESKTOP = { width: 1300, height: 800 };
const PHONE = { width: 390, height: 740 };
const COMMENT = '@anna It is too wide';
const UNREVIEWED = /Ask somebody other than its author/;

/** What shows something by itself, and what is typed for it. */
const LIVE: [component: string, field?: string, text?: string][] = [
  ['Number of entities'],
  ['Entity table'],
  ['Entity cards'],
  ['Chart of entities'],
  ['Entity', 'Entity', LAMP],
  ['Relations', 'Entity', LAMP],
  ['Markdown', 'Text', 'Typed by hand. '.repeat(200)],
  ['Search results', 'What to search', 'lamp'],
  ['Starred entities'],
  ['Notifications'],
  ['Recently visited'],
];

/** The pages that mockups become, for those who make, review, read and do not reach them. */
export function testPages(): void {
  part('pages', () => {
    /** The path of what the first test makes, and the second one goes on with. */
    let mockup = '';

    inBrowser(
      'an empty mockup of live components is commented on, reviewed and published',
      async ({ portal, visit }) => {
        await portal.createTenant({
          slug: TENANT,
          name: 'Glance',
          component: 'lamp',
          members: ['user:default/anna', 'group:default/guests'],
        });
        await portal.addComponents(TENANT, 4_999);
        await setRole(portal, 'anna', 'admin');
        await portal.notify(TENANT, 'user:default/anna', 'The lamp is on');
        await portal.untilSearchFinds(TENANT, 'lamp');

        const designer = await visit({ at: TENANT, as: 'anna', ...DESKTOP });
        designer.traffic.expect([TENANT]);
        const { page } = designer;
        await demandReviews(designer);
        await designer.open('/mockups');
        await page
          .getByRole('button', { name: 'Create mockup' })
          .first()
          .click();
        await page.getByRole('textbox', { name: 'Name' }).fill('Glance');
        await expectTemplates(designer);
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        await page.getByRole('listbox', { name: 'Canvas' }).waitFor();
        mockup = new URL(page.url()).pathname;
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
        await fillColumns(designer);
        await leaveOutOnPhones(page);

        // Nobody has reviewed it.
        designer.expectProblem(/status of 409 .*\/pages\//);
        const dialog = page.getByRole('dialog');
        await page.getByRole('button', { name: 'Publish' }).click();
        await dialog.getByRole('button', { name: 'Publish' }).click();
        await dialog.getByText(UNREVIEWED).waitFor();
        await dialog.getByRole('button', { name: 'Cancel' }).click();

        const shares = [{ group: 'group:default/guests', access: 'read' }];
        await portal.call('anna', `mockup${mockup}/shares`, {
          method: 'PUT',
          tenant: TENANT,
          body: { shares },
        });
        const reviewer = await visit({ at: TENANT, as: 'guest' });
        reviewer.traffic.expect([TENANT]);
        await comment(reviewer, mockup);
        await expectMentioned(portal);
        await answer(designer, mockup);
        await markReady(reviewer, mockup);
        await reviewer.page
          .getByRole('link', { name: /^Version of/ })
          .first()
          .click();
        await savePicture(reviewer);

        await designer.open(mockup);
        await publishAsHome(designer);
        await designer.expectAccessible();
      },
    );

    inBrowser(
      'a home with live data of 5,000 entities is for its readers, follows changes, and is unpublished',
      async ({ portal, visit }) => {
        const designer = await visit({ at: TENANT, as: 'anna', ...DESKTOP });
        designer.traffic.expect([TENANT]);
        designer.expectProblem(/status of 409 .*\/pages\//);
        const { page } = designer;
        const reviewer = await visit({ at: TENANT, as: 'guest' });
        reviewer.traffic.expect([TENANT]);

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
          await who.page.getByText('5,000', { exact: true }).waitFor();
          await who.page.getByText('Typed by hand').waitFor();
          expect(await areSideBySide(who.page)).toBe(who === designer);
          expect(await who.page.locator('[data-item^=image]').isVisible()).toBe(
            who === designer,
          );
          await who.page.getByText(text).first().waitFor();
          await who.untilQuiet();
          await expectNothingFailed(who.page);
        }
        await savePicture(designer);
        expect(await reader.page.getByText('The lamp is on').count()).toBe(0);
        expect(await reader.page.getByText('Published by').count()).toBe(0);
        await reader.expectNoSidewaysScroll();
        await reader.expectAccessible(async () => {
          await reader.untilQuiet();
          // What is out of sight is not laid out, and does not know that it has to scroll.
          await reader.page
            .locator('[data-item^=markdown]')
            .evaluate(element => element.scrollIntoView());
        });

        // What is saved later is seen once it is put there, and what has changed at once.
        await designer.open(PATH);
        await page
          .getByRole('link', { name: 'Versions of the mockup' })
          .click();
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
        const reloaded = await reader.page.reload();
        expectStockPolicy(reloaded!.headers()['content-security-policy']);
        await reader.page.getByText('It is bright now').first().waitFor();
        // By the title that it has, and not by that of the portal.
        await reader.page
          .locator('[data-item^=recently-visited]')
          .getByRole('link', { name: 'Glance', exact: true })
          .waitFor();
        expect(
          await reader.page.getByRole('heading', { name: 'Header' }).count(),
        ).toBe(0);
        await page.getByRole('link', { name: 'Versions', exact: true }).click();
        await page.getByRole('button', { name: /^Put/ }).click();
        await page.getByText(UNREVIEWED).waitFor();
        await markReady(reviewer, mockup);
        await page.getByRole('button', { name: /^Put/ }).click();
        await page.getByText('On the page', { exact: true }).waitFor();
        await designer.untilQuiet();
        await reader.page.reload();
        await reader.page.getByRole('heading', { name: 'Header' }).waitFor();

        await page.getByRole('button', { name: /^Unpublish the page/ }).click();
        await page.getByText(/The page glance is unpublished/).waitFor();
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

async function demandReviews(admin: Visitor): Promise<void> {
  const setting = admin.page.getByText(/^Publish only versions/);
  await admin.open('/pages');
  await admin.expectAccessible(() => setting.waitFor());
  await setting.click();
  await admin.page.getByText(/are reviewed before they are/).waitFor();
}

/** Nothing of what a mockup may begin with is a barrier. */
async function expectTemplates(designer: Visitor): Promise<void> {
  const { page } = designer;
  await page.getByRole('button', { name: /Begin with/ }).click();
  await page.getByRole('option', { name: 'The page of a team' }).waitFor();
  await designer.expectAccessibleAsIs();
  await page.keyboard.press('Escape');
}

/** Puts a text and a button side by side, by the keyboard. */
async function fillColumns(designer: Visitor): Promise<void> {
  const { page } = designer;
  await add(page, 'Columns');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('navigation', { name: 'Where you are' }).waitFor();
  await add(page, 'Text');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await add(page, 'Button');
  await pressOn(designer, /^Move into Columns/);
  await item(page, /^Button/).waitFor({ state: 'detached' });
}

/** Presses a button by the keyboard, on the page or in a part of it. */
async function pressOn(
  visitor: Visitor,
  name: RegExp | string,
  within: Page | Locator = visitor.page,
) {
  await visitor.tabTo(within.getByRole('button', { name, exact: true }));
  await visitor.page.keyboard.press('Enter');
}

/** The policy for contents is that of Backstage: no live component asks for more. */
function expectStockPolicy(policy: string): void {
  const allowed = new Map(
    policy
      .split(';')
      .map(directive => directive.trim().split(/ +/))
      .map(([name, ...sources]) => [name, sources]),
  );
  expect(allowed.get('default-src')).toEqual(["'self'"]);
  expect(allowed.get('script-src')).toEqual(["'self'", "'unsafe-eval'"]);
  expect(allowed.get('img-src')).toEqual(["'self'", 'data:']);
  expect(allowed.get('object-src')).toEqual(["'none'"]);
  expect(allowed.has('frame-src')).toBe(false);
}

async function areSideBySide(page: Page): Promise<boolean> {
  const [text, button] = await Promise.all(
    ['text', 'button'].map(name =>
      page.locator(`[data-container] [data-item^=${name}]`).boundingBox(),
    ),
  );
  return text!.x + text!.width < button!.x && text!.y === button!.y;
}

/** Adds an image that phones do not show. */
async function leaveOutOnPhones(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add Image' }).click();
  await page.getByText('Phone', { exact: true }).click();
  await page.getByText('Image', { exact: true }).last().click();
  await page.getByText('Edit', { exact: true }).click();
}

/** Says something of an item, by the keyboard. */
async function comment(reviewer: Visitor, mockup: string): Promise<void> {
  const { page } = reviewer;
  await reviewer.open(`${mockup}/comments`);
  await page.getByRole('button', { name: /^Comment on Image/ }).waitFor();
  await pressOn(reviewer, /About/);
  await page.keyboard.type('Image');
  await page.keyboard.press('Enter');
  await reviewer.tabTo(page.getByRole('textbox', { name: /^Comment/ }));
  await page.keyboard.type(COMMENT);
  await pressOn(reviewer, 'Comment');
  await page.getByText('Your comment is saved.').waitFor();
}

/** Anna learns that she was mentioned, and not of what. */
async function expectMentioned(portal: Portal): Promise<void> {
  const notified = JSON.stringify(
    await portal.call('anna', 'notifications/notifications', {
      tenant: TENANT,
    }),
  );
  expect(notified).toContain('mentioned you in a comment');
  expect(notified).not.toMatch(/too wide|Glance/);
}

/** Resolves the comment on a phone, and is refused to review the own version. */
async function answer(designer: Visitor, mockup: string): Promise<void> {
  const { page } = designer;
  await page.setViewportSize(PHONE);
  await designer.open(`${mockup}/comments`);
  const said = page.getByText(COMMENT);
  await said.waitFor();
  await designer.expectNoSidewaysScroll();
  await designer.expectAccessible(() => said.waitFor());
  await pressOn(designer, /^Resolve/);
  await page.getByText('1 resolved comment').waitFor();

  designer.expectProblem(/status of 403 .*\/ready/);
  await designer.open(`${mockup}/versions`);
  await readyButton(page).click();
  await page.getByText(/Ask somebody else to review it/).waitFor();
  await page.setViewportSize(DESKTOP);
}

async function markReady(reviewer: Visitor, mockup: string): Promise<void> {
  const { page } = reviewer;
  await reviewer.open(`${mockup}/versions`);
  await readyButton(page).click();
  await page.getByText(/ is ready\.$/).waitFor();
}

/** Of the newest version. */
function readyButton(page: Page): Locator {
  return page.getByRole('button', { name: /^Mark .* as ready$/ }).first();
}

async function savePicture({ page }: Visitor): Promise<void> {
  await page.getByText('Typed by hand').waitFor();
  const [picture] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save as PNG' }).click(),
  ]);
  const bytes = await readFile(await picture.path());
  expect(bytes.subarray(1, 4).toString()).toBe('PNG');
}

async function publishAsHome(designer: Visitor): Promise<void> {
  const { page } = designer;
  await pressOn(designer, 'Publish');
  const dialog = page.getByRole('dialog');
  await designer.tabTo(dialog.getByRole('checkbox', { name: /the home page/ }));
  await page.keyboard.press('Space');
  await pressOn(designer, 'Publish', dialog);
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
