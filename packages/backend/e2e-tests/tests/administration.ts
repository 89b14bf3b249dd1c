import { inBrowser } from '../harness/inBrowser';

/** What administrators do, without a command line. */
export function testAdministration(): void {
  describe('the administration', () => {
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
  });
}
