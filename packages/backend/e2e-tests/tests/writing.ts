import { inBrowser, part } from '../harness/inBrowser';

/** Searching as one types, and registering what another place describes. */
export function testSearchAndImport(): void {
  part('a member', () => {
    inBrowser(
      'finds what is theirs while typing',
      async ({ portal, visit }) => {
        await portal.untilSearchFinds('acme', 'doorbells');
        const visitor = await visit({ at: 'acme', as: 'anna' });
        visitor.traffic.expect(['acme']);
        const { page } = visitor;
        await visitor.open('/');
        await page.getByRole('link', { name: 'Routes' }).waitFor();
        await page.getByRole('button', { name: 'Search' }).first().click();
        const dialog = page.getByRole('dialog');
        // The default tenant and acme have orders.
        await dialog.getByRole('textbox').fill('orders');
        await dialog.getByRole('link', { name: /Pick-up orders/ }).waitFor();
        await visitor.untilQuiet();
        await visitor.expectNothingForeign('acme');
        await dialog.getByRole('textbox').press('Enter');
        await page.waitForURL(/\/search\?/);
        await page
          .getByRole('link', { name: /Pick-up orders/ })
          .first()
          .waitFor();
        await visitor.expectNothingForeign('acme');
      },
    );

    inBrowser(
      'registers a component, which only their tenant gets',
      async scene => {
        const { portal, visit } = scene;
        const url = portal.sources.serveComponent(
          '/catalog-info.yaml',
          'van-tracker',
        );
        const visitor = await visit({ at: 'acme', as: 'anna' });
        visitor.traffic.expect(['acme']);
        const { page } = visitor;
        await visitor.open('/catalog-import');
        await page.getByRole('textbox', { name: /URL/ }).fill(url);
        await visitor.expectAccessibleAsIs();
        await page.getByRole('button', { name: 'Analyze' }).click();
        await page.getByRole('button', { name: 'Import' }).click();
        await page.getByRole('button', { name: 'Register another' }).waitFor();
        await page.getByText('van-tracker').first().waitFor();
        await visitor.untilQuiet();
        await portal.untilServed('acme', 'van-tracker');
        for (const tenant of ['default', 'initech']) {
          const path = 'catalog/entities/by-name/component/default/van-tracker';
          const { status } = await portal.request('guest', path, { tenant });
          expect([tenant, status]).toEqual([tenant, 404]);
        }
      },
    );
  });
}
