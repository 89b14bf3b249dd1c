import type { Locator, Page } from 'playwright-core';
import { idleExcuses } from '../harness/accessibility';
import { inBrowser, hasAllParts, part } from '../harness/inBrowser';
import type { Portal, User } from '../harness/Portal';
import type { Visitor } from '../harness/Visitor';

/** What a tenant of the examples has, as its pages show it. */
interface Sample {
  tenant: string;
  user: User;
  component: { path: string; title: string; system: string };
  owner: { path: string; title: string };
  api: { path: string; name: string; operation: string };
  search: { term: string; title: string };
}

const SAMPLES: Sample[] = [
  {
    tenant: 'acme',
    user: 'anna',
    component: {
      path: '/catalog/default/component/route-planner',
      title: 'Routes',
      system: 'parcels',
    },
    owner: { path: '/catalog/default/group/logistics', title: 'Logistics' },
    api: {
      path: '/catalog/default/api/tracking',
      name: 'tracking',
      operation: '/parcels/{id}',
    },
    search: { term: 'doorbells', title: 'Routes' },
  },
  {
    tenant: 'initech',
    user: 'peter',
    component: {
      path: '/catalog/default/component/tps-reports',
      title: 'TPS reports',
      system: 'paperwork',
    },
    owner: { path: '/catalog/default/group/reporting', title: 'Reporting' },
    api: {
      path: '/catalog/default/api/cover-sheets',
      name: 'cover-sheets',
      operation: '/cover-sheets/{report}',
    },
    search: { term: 'reports', title: 'TPS reports' },
  },
];

/** What Backstage's own pages show at a tenant's hostname, and in both themes. */
export function testStockPages(): void {
  SAMPLES.forEach(({ tenant, user, component, owner, api, search }) =>
    part(`the pages of ${tenant}`, () => {
      /** A page of the tenant, and what is seen on it in the end. */
      const shows = (
        name: string,
        path: string,
        look: (visitor: Visitor) => Promise<void>,
        prepare: (portal: Portal) => Promise<void> = async () => undefined,
      ) =>
        inBrowser(name, async ({ portal, visit }) => {
          await prepare(portal);
          const visitor = await visit({ at: tenant, as: user });
          visitor.traffic.expect([tenant]);
          await visitor.open(path);
          await look(visitor);
          await visitor.untilQuiet();
          await visitor.expectNothingForeign(tenant);
          if (tenant === SAMPLES[0].tenant) {
            await visitor.expectAccessible(() => look(visitor));
          }
        });

      shows('index: what the user owns', '/', async ({ page }) => {
        // Where that is nothing, Backstage shows all.
        await page.waitForURL(/filters%5Buser%5D=owned/);
        await page.getByRole('link', { name: component.title }).waitFor();
        await page.getByRole('cell', { name: owner.title }).first().waitFor();
      });

      shows('entity', component.path, async ({ page }) => {
        const { title, system } = component;
        await page.getByRole('heading', { name: title }).first().waitFor();
        await page.getByRole('link', { name: system }).first().waitFor();
        // The graph of the card.
        await inGraph(page, api.name).waitFor();
      });

      shows('catalog graph', graphOf(component.path), async ({ page }) => {
        await inGraph(page, component.system).waitFor();
        await inGraph(page, api.name).waitFor();
      });

      shows('owner', owner.path, async ({ page }) => {
        await page
          .getByRole('heading', { name: owner.title })
          .first()
          .waitFor();
        await page.getByRole('heading', { name: 'Ownership' }).waitFor();
        await inGraph(page, component.title).waitFor();
      });

      shows('list of APIs', '/api-docs', async ({ page }) => {
        await page.getByRole('link', { name: api.name }).waitFor();
      });

      shows(
        'definition of an API',
        `${api.path}/definition`,
        async ({ page }) => {
          await page.locator('.swagger-ui').getByText(api.operation).waitFor();
        },
      );

      shows(
        'results of a search',
        `/search?query=${search.term}`,
        async v => {
          await v.page
            .getByRole('link', { name: search.title })
            .first()
            .waitFor();
        },
        // The first search of a tenant starts its instance, which makes its index then.
        portal => portal.untilSearchFinds(tenant, search.term),
      );
    }),
  );

  inBrowser(
    'the settings of a user, and no excuse for what Backstage has mended',
    async ({ visit }) => {
      const visitor = await visit({ as: 'anna' });
      await visitor.open('/settings');
      await visitor.page.getByRole('link', { name: 'anna' }).first().waitFor();
      await visitor.expectAccessible();
      // The last of the pages that are excused.
      expect(hasAllParts() ? idleExcuses() : []).toEqual([]);
    },
  );
}

/** An entity in a drawing of relations. */
function inGraph(page: Page, title: string): Locator {
  return page.locator('svg text').filter({ hasText: title });
}

function graphOf(path: string): string {
  const [, , namespace, kind, name] = path.split('/');
  const ref = encodeURIComponent(`${kind}:${namespace}/${name}`);
  return `/catalog-graph?rootEntityRefs%5B%5D=${ref}`;
}
