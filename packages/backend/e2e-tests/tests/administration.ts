import type { Locator, Page } from 'playwright-core';
import { addMarker } from '../harness/foreignData';
import { inBrowser, part } from '../harness/inBrowser';

/** What administrators do, without a command line. */
export function testAdministration(): void {
  part('the administration', () => {
    inBrowser('lists and finds tenants', async ({ visit }) => {
      const visitor = await visit({ as: 'guest' });
      const { page } = visitor;
      await visitor.open('/tenants');
      await page.getByRole('row', { name: /Acme/ }).waitFor();
      await page.getByRole('row', { name: /Initech/ }).waitFor();
      await visitor.expectAccessible();
      await page.getByRole('searchbox', { name: 'Search' }).fill('nite');
      await page
        .getByRole('row', { name: /Acme/ })
        .waitFor({ state: 'detached' });
      await page.getByRole('row', { name: /Initech/ }).waitFor();
    });

    inBrowser(
      'takes a tenant from its creation to its first entity, and a member into it',
      async ({ portal, visit }) => {
        addMarker('umbrella', /virus-scanner/);
        const admin = await visit({ as: 'guest' });
        const { page } = admin;
        // While the engine of the new tenant starts, which may take longer than a request waits.
        admin.expectProblem(/\b503\b.*\/api\/catalog\/locations\b/);
        await admin.open('/tenants');
        await page.getByRole('button', { name: 'Create tenant' }).click();
        await page.getByRole('textbox', { name: 'Name' }).fill('Umbrella');
        await admin.expectAccessibleAsIs();
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        await page.getByRole('heading', { name: 'Umbrella' }).first().waitFor();
        await page.getByText('No entities yet').waitFor();

        await addSource(
          page,
          portal.sources.serveComponent('/u.yaml', 'virus-scanner'),
        );
        await admin.expectAccessible();
        await openTab(page, 'Overview');
        // The location, and what it names.
        await page.getByText('2 of at most 50,000').waitFor();
        await admin.expectAccessible();

        await openTab(page, 'Members');
        await page
          .getByRole('combobox', { name: 'Person or group' })
          .fill('ann');
        await page.getByRole('option', { name: /Anna/ }).first().click();
        await page.getByRole('button', { name: 'Add', exact: true }).click();
        await page.getByText(/Anna.* was added with the role Member/).waitFor();
        await admin.expectAccessible();

        const member = await visit({ at: 'umbrella', as: 'anna' });
        member.traffic.expect(['umbrella']);
        await member.open('/');
        await member.page
          .getByRole('link', { name: 'virus-scanner' })
          .waitFor();
        await member.expectNothingForeign('umbrella');
      },
    );

    inBrowser(
      'renames, limits, pauses, deletes and restores a tenant',
      async ({ portal, visit }) => {
        await portal.createTenant({
          slug: 'wonka',
          name: 'Wonka',
          component: 'chocolate-river',
        });
        const admin = await visit({ as: 'guest' });
        const { page } = admin;
        await admin.open('/tenants/wonka');
        await page.getByText('2 of at most 50,000').waitFor();

        /** Opens a dialog, which has no barrier, and does what it is for. */
        const act = async (
          open: string,
          submit: string,
          fill: () => Promise<void> = async () => {},
        ) => {
          await admin.untilQuiet();
          await page.getByRole('button', { name: open, exact: true }).click();
          const dialog = page.getByRole('dialog');
          await dialog.waitFor();
          await fill();
          await admin.expectAccessibleAsIs();
          const last = dialog.getByRole('button').last();
          expect(await last.innerText()).toBe(submit);
          expect([submit, await isRed(last)]).toEqual([
            submit,
            submit === 'Delete',
          ]);
          await last.click();
          await dialog.waitFor({ state: 'detached' });
        };
        const field = (name: RegExp) => page.getByRole('textbox', { name });

        await act('Edit name and limits', 'Save', async () => {
          await field(/^Name/).fill('Wonka Sweets');
          await field(/^Maximum number of entities/).fill('2000');
        });
        await page.getByText('2 of at most 2,000').waitFor();
        await page.getByRole('heading', { name: 'Wonka Sweets' }).waitFor();

        await act('Pause engine', 'Pause');
        await page.getByText('Engine is paused').first().waitFor();
        await act('Resume engine', 'Resume');
        await page.getByText('Engine is running').first().waitFor();

        await act('Delete tenant', 'Delete', () =>
          field(/^Type the slug/).fill('wonka'),
        );
        const gone = await portal.request('guest', 'catalog/entities', {
          tenant: 'wonka',
        });
        expect(gone.status).toBe(403);
        await admin.expectAccessible();
        await page.getByRole('button', { name: 'Restore tenant' }).click();
        await page.getByText('2 of at most 2,000').waitFor();
        await portal.untilServed('wonka', 'chocolate-river');
      },
    );
  });
}

/** Whether a button looks dangerous. */
function isRed(button: Locator): Promise<boolean> {
  return button.evaluate(element => {
    const [red, green, blue] = getComputedStyle(element)
      .backgroundColor.match(/\d+/g)!
      .map(Number);
    return red > 2 * Math.max(green, blue);
  });
}

async function openTab(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click();
}

async function addSource(page: Page, url: string): Promise<void> {
  await openTab(page, 'Sources');
  await page.getByRole('textbox', { name: 'URL' }).fill(url);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page
    .getByText(/^Saved/)
    .first()
    .waitFor();
}
