import type { Page } from 'playwright-core';
import { inBrowser, part } from '../harness/inBrowser';
import { add, item, openMockup } from './mockups';

const HOUR_MS = 60 * 60 * 1000;

/** What people see of a session that has ended, and of a database that does not answer. */
export function testFailures(): void {
  part('somebody at work', () => {
    inBrowser(
      'is asked to sign in again where the session has ended, and loses nothing',
      async scene => {
        const { visitor, page } = await openMockup(scene, { versions: [] });
        await add(page, 'Text');
        const session = '**/api/auth/anna/refresh*';
        await page.route(session, route =>
          route.fulfill({ status: 401, json: { error: { name: 'Ended' } } }),
        );
        // No token is good for so long: the page asks for another one.
        await page.clock.setSystemTime(Date.now() + 2 * HOUR_MS);
        visitor.expectProblem(/status of 401/);
        await startSaving(page);
        const alert = page.getByRole('alert');
        await alert.getByText(/^Your session has ended/).waitFor();
        await alert.getByRole('link', { name: 'Sign in again' }).waitFor();
        await item(page, /^Text/).waitFor();

        await page.unroute(session);
        await alert.getByRole('button', { name: 'Try again' }).click();
        await page.getByText('All changes are saved.').waitFor();
      },
    );

    inBrowser(
      'is told what the page waits for while the database is frozen, may leave it, and goes on',
      async ({ portal, visit }) => {
        const visitor = await visit({ as: 'guest' });
        const { page } = visitor;
        const link = (name: string) =>
          page.getByRole('link', { name, exact: true });
        const row = page.getByRole('row', { name: /Acme/ });
        const waits = page.getByText(/^The backend has not answered yet/);
        // The code of both pages is there already.
        await visitor.open('/mockups');
        await link('Tenants').click();
        await row.waitFor();
        await link('Mockups').click();
        await visitor.untilQuiet();

        await portal.whileFrozen(async () => {
          await link('Tenants').click();
          await waits.waitFor();
          await link('Mockups').click();
          await page
            .getByRole('heading', { name: 'Mockups', level: 2 })
            .waitFor();
          await link('Tenants').click();
          await waits.waitFor();
        });
        // What was asked for too long ago has failed.
        visitor.expectProblem(/\b50[034]\b/);
        const retry = page.getByRole('button', { name: 'Try again' });
        await row.or(retry).first().waitFor();
        if (await retry.isVisible()) {
          await retry.click();
        }
        await row.waitFor();
        expect(await waits.count()).toBe(0);
      },
    );
  });
}

async function startSaving(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save', exact: true }).click();
}
