import type { Locator } from 'playwright-core';
import { inBrowser, part } from '../harness/inBrowser';
import { SIGN_IN } from '../harness/Visitor';
import { walk } from '../harness/walk';
import { add, item, openMockup } from './mockups';

const CLOSED = [
  'kubernetes',
  'notifications',
  'scaffolder',
  'search',
  'signals',
  'techdocs',
];

/** Without a mouse. */
export function testKeyboard(): void {
  part('the keyboard alone', () => {
    inBrowser(
      'signs in, switches the tenant and opens an entity',
      async scene => {
        const visitor = await scene.visit();
        const { page } = visitor;
        const { keyboard } = page;
        await page.goto('/');
        await visitor.tabTo(page.getByRole('button', { name: SIGN_IN.guest }));
        await keyboard.press('Enter');
        await page.getByRole('link', { name: 'Stock' }).waitFor();
        await visitor.untilQuiet();

        await visitor.tabTo(visitor.switcher);
        await keyboard.press('Enter');
        await page.getByRole('option', { name: 'Acme' }).waitFor();
        await visitor.tabTo(page.getByPlaceholder('Find a tenant'));
        await keyboard.type('init');
        await page
          .getByRole('option', { name: 'Acme' })
          .waitFor({ state: 'detached' });
        await keyboard.press('ArrowDown');
        await keyboard.press('Enter');
        const reports = page.getByRole('link', { name: 'TPS reports' });
        await reports.waitFor();
        await visitor.untilQuiet();

        await visitor.tabTo(reports);
        await keyboard.press('Enter');
        await page
          .getByRole('heading', { name: 'TPS reports' })
          .first()
          .waitFor();
        await visitor.untilQuiet();
      },
    );

    inBrowser('sees where the focus is', async scene => {
      const { visitor, page } = await openMockup(scene, { versions: [] });
      await page.getByRole('button', { name: 'Share' }).click();
      const group = page.getByRole('combobox');
      const dialog = page.getByRole('dialog');
      await group.waitFor();
      await visitor.tabTo(dialog.getByRole('button', { name: 'Cancel' }));
      const field = group.locator('..');
      const without = await look(field);
      await visitor.tabTo(group);
      expect(await look(field)).not.toBe(without);

      await visitor.open('/mockups');
      const list = page.getByRole('list', { name: 'Mockups' });
      const card = list.getByRole('listitem').first();
      const plain = await look(card);
      await visitor.tabTo(card.getByRole('link'));
      expect(await look(card)).not.toBe(plain);
    });

    inBrowser('creates a tenant', async ({ visit }) => {
      const visitor = await visit({ as: 'guest' });
      const { page } = visitor;
      await visitor.open('/tenants');
      await page.getByRole('row', { name: /Acme/ }).waitFor();
      await visitor.untilQuiet();
      await visitor.tabTo(page.getByRole('button', { name: 'Create tenant' }));
      await page.keyboard.press('Enter');
      await visitor.tabTo(page.getByRole('textbox', { name: 'Name' }));
      await page.keyboard.type('Soylent');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Soylent' }).first().waitFor();
      await visitor.untilQuiet();
    });
  });
}

/** With the few colours of a system that is set to high contrast. */
export function testForcedColors(): void {
  part('the colours of the system', () => {
    inBrowser('tell what is chosen and what has the focus', async scene => {
      const { visitor, page } = await openMockup(scene, { versions: [] });
      await add(page, 'Button');
      await page.keyboard.press('Escape');
      await add(page, 'Image');
      await page.keyboard.press('Escape');
      await page.emulateMedia({ forcedColors: 'active' });
      const focus = (locator: Locator) => locator.evaluate(it => it.focus());

      const canvas = page.getByRole('listbox', { name: 'Canvas' });
      const looks = [await look(canvas)];
      await page.keyboard.press('Space');
      looks.push(await look(canvas));
      await focus(page.getByRole('button', { name: 'Save', exact: true }));
      looks.push(await look(canvas));
      await focus(item(page, /^Button/));
      await page.keyboard.press('Escape');
      looks.push(await look(canvas));
      await focus(page.getByRole('button', { name: 'Save', exact: true }));
      looks.push(await look(canvas));
      // The image with the focus, chosen too, only chosen; the button with the focus; neither.
      expect(new Set(looks).size).toBe(5);

      const view = page.getByText('Edit', { exact: true });
      const chosen = await look(view);
      await page.getByText('JSON', { exact: true }).click();
      const text = page.getByRole('textbox', { name: /JSON/ });
      await text.waitFor();
      expect(await look(view)).not.toBe(chosen);
      const without = await look(text);
      await focus(text);
      expect(await look(text)).not.toBe(without);

      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('All changes are saved.').waitFor();
      await visitor.open('/mockups');
      const choices = page.locator('label').filter({
        has: page.getByRole('checkbox'),
      });
      const choice = choices.first();
      const empty = await look(choice);
      await choice.getByRole('checkbox').check({ force: true });
      expect(await look(choice)).not.toBe(empty);
    });
  });
}

/** What is seen of something, to be compared. */
async function look(locator: Locator): Promise<string> {
  return (await locator.screenshot()).toString('base64');
}

/** On a screen 360 pixels wide. */
export function testPhone(): void {
  part('on a phone', () => {
    const PHONE = { width: 360, height: 740 };

    inBrowser('signing in fits the screen', async ({ visit }) => {
      const visitor = await visit(PHONE);
      await visitor.page.goto('/');
      await visitor.page.getByRole('button', { name: SIGN_IN.anna }).waitFor();
      await visitor.expectNoSidewaysScroll();
    });

    inBrowser(
      'the tenant is shown, and another one can be opened',
      async ({ visit }) => {
        const visitor = await visit({ at: 'acme', as: 'guest', ...PHONE });
        visitor.traffic.expect(['acme']);
        await visitor.open('/catalog/default/component/route-planner');
        await visitor.page
          .getByRole('heading', { name: 'Routes' })
          .first()
          .waitFor();
        await visitor.untilQuiet();
        const place = await visitor.switcher.boundingBox();
        expect(place!.x + place!.width).toBeLessThanOrEqual(PHONE.width);
        expect(place!.y + place!.height).toBeLessThanOrEqual(PHONE.height);
        await visitor.switcher.click();
        await visitor.page.getByRole('option', { name: 'Initech' }).waitFor();
        await visitor.page.keyboard.press('Escape');
        await visitor.expectNoSidewaysScroll();
      },
    );

    inBrowser('what a new tenant needs is read in lines', async scene => {
      await scene.portal.call('guest', 'tenants', {
        method: 'POST',
        body: { tenant_slug: 'empty', tenant_name: 'Empty' },
      });
      const visitor = await scene.visit({ as: 'guest', ...PHONE });
      await visitor.open('/tenants/empty');
      const title = visitor.page.getByText('No entities yet');
      await title.waitFor();
      // Not syllables beside the buttons.
      expect((await title.boundingBox())!.width).toBeGreaterThan(150);
      await visitor.expectNoSidewaysScroll();
    });

    inBrowser('a long name of a tenant is read whole', async scene => {
      const { portal } = scene;
      const name = 'Beteiligungsgesellschaft'.repeat(5);
      const peter = encodeURIComponent('user:default/peter');
      await portal.call('guest', 'tenants', {
        method: 'POST',
        body: { tenant_slug: 'long', tenant_name: name },
      });
      await portal.call('guest', `tenants/long/members/${peter}`, {
        method: 'PUT',
        body: { role: 'member' },
      });
      const visitor = await scene.visit({ as: 'peter', ...PHONE });
      visitor.expectProblem(/status of 403/);
      await visitor.open('/');
      await visitor.page.evaluate(() =>
        localStorage.setItem('backstage-plugin-tenants.tenant', 'none'),
      );
      await visitor.open('/');
      const label = visitor.page.getByRole('button', { name }).locator('span');
      const { width, isCut } = await label.evaluate(element => ({
        width: element.getBoundingClientRect().width,
        isCut: element.scrollWidth > element.clientWidth,
      }));
      // Peter is to be a member of no other tenant than before.
      await portal.call('guest', 'tenants/long', { method: 'DELETE' });
      expect(width).toBeLessThan(PHONE.width);
      expect(isCut).toBe(false);
    });

    inBrowser('a long dialog has its buttons in sight', async ({ visit }) => {
      const height = 600;
      const visitor = await visit({ as: 'guest', ...PHONE, height });
      const { page } = visitor;
      await visitor.open('/tenants/acme');
      await page.getByRole('button', { name: 'Edit name and limits' }).click();
      const save = page.getByRole('button', { name: 'Save' });
      const place = (await save.boundingBox())!;
      expect(place.y + place.height).toBeLessThanOrEqual(height);
    });

    inBrowser.each<[string]>([
      ['/'],
      ['/tenants'],
      ['/tenants/acme'],
      ['/tenants/acme/members'],
      ['/tenants/acme/sources'],
    ])('%s fits the screen', async ({ visit }, path) => {
      const visitor = await visit({ as: 'guest', ...PHONE });
      await visitor.open(path);
      await visitor.page.getByRole('heading').first().waitFor();
      await visitor.expectNoSidewaysScroll();
      if (path === '/tenants') {
        await visitor.page.getByRole('row', { name: /Acme/ }).waitFor();
        // What the table has no room for is behind a shadow.
        const frame = visitor.page.getByRole('grid').locator('..');
        const { isCut, shadow } = await frame.evaluate(element => ({
          isCut: element.scrollWidth > element.clientWidth,
          shadow: getComputedStyle(element).backgroundImage,
        }));
        expect([isCut, shadow]).toEqual([true, expect.stringMatching('grad')]);
      }
    });
  });
}

/** A backend that is away for a while, and who may enter nothing. They restart the backend. */
export function testRestarts(): void {
  part('a restart of the backend', () => {
    inBrowser(
      'has nothing shown or asked for that a tenant no longer has',
      async ({ portal, visit }) => {
        await portal.stopBackend();
        await portal.startBackend({ PORTAL_CLOSED: CLOSED.join() });
        const visitor = await visit({ at: 'acme', as: 'anna' });
        visitor.traffic.expect(['acme']);
        await visitor.open('/');
        await visitor.page.getByRole('link', { name: 'Routes' }).waitFor();
        const entity = '/catalog/default/component/route-planner';
        const { visited, problems } = await walk(visitor, entity);
        expect(problems).toEqual([]);
        expect(visited).toEqual(
          expect.arrayContaining(['/api-docs', '/mockups', '/settings']),
        );
        const dead = [
          ...['/create', '/docs', '/notifications', '/search'],
          ...['kubernetes', 'docs'].map(tab => `${entity}/${tab}`),
        ];
        expect(visited.filter(path => dead.includes(path))).toEqual([]);
        expect(
          await visitor.page.getByRole('button', { name: 'Search' }).count(),
        ).toBe(0);
      },
    );

    inBrowser(
      'is survived by a page that is open',
      async ({ portal, visit }) => {
        const visitor = await visit({ as: 'guest' });
        const { page } = visitor;
        await visitor.open('/');
        await page.getByRole('link', { name: 'Stock' }).waitFor();
        // The backend that goes away has served the code of that page, too.
        const tenants = page.getByRole('link', {
          name: 'Tenants',
          exact: true,
        });
        await tenants.click();
        await page.getByRole('row', { name: /Acme/ }).waitFor();
        await page.goBack();
        await page.getByRole('link', { name: 'Stock' }).waitFor();
        await visitor.untilQuiet();
        await portal.stopBackend();
        visitor.expectProblem(/ERR_CONNECTION_REFUSED/, /Failed to fetch/);
        await tenants.click();
        await page.getByText('The backend does not answer.').waitFor();
        await portal.startBackend({
          APP_CONFIG_tenancy_membershipOfDefault: '"members"',
        });
        await page.getByRole('button', { name: 'Try again' }).click();
        await page.getByRole('row', { name: /Acme/ }).waitFor();
      },
    );

    inBrowser(
      'has somebody who may enter no tenant say so',
      async ({ portal, visit }) => {
        const staff = encodeURIComponent('group:default/initech-staff');
        await portal.call('guest', `tenants/initech/members/${staff}`, {
          method: 'DELETE',
        });
        const visitor = await visit();
        visitor.expectProblem(/status of 403/);
        await visitor.signIn('peter');
        await visitor.page
          .getByRole('heading', { name: 'You may not enter any tenant' })
          .waitFor();
        await visitor.page.getByText('user:default/peter').waitFor();
        await visitor.expectAccessible();
        await visitor.page.getByRole('button', { name: 'Sign out' }).click();
        await visitor.page
          .getByRole('button', { name: SIGN_IN.anna })
          .waitFor();
      },
    );
  });
}
