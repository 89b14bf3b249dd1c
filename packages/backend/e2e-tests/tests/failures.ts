import type { Page } from 'playwright-core';
import { inBrowser } from '../harness/inBrowser';
import { add, item, openMockup } from './mockups';

const HOUR_MS = 60 * 60 * 1000;

/** What people see of a session that has ended. */
export function testFailures(): void {
  describe('somebody at work', () => {
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
  });
}

async function startSaving(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save', exact: true }).click();
}
