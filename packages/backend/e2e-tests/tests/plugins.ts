import { waitUntil } from '@internal/postgres/testUtils';
import { publishDocument } from '../../dev/sampleContents';
import { addMarker } from '../harness/foreignData';
import { inBrowser, part } from '../harness/inBrowser';
import type { Portal, User } from '../harness/Portal';
import type { Visitor } from '../harness/Visitor';

/** Tenants that have entities of the same refs. */
const TENANTS: { tenant: string; user: User }[] = [
  { tenant: 'default', user: 'guest' },
  { tenant: 'stark', user: 'anna' },
  { tenant: 'tyrell', user: 'anna' },
];

const FIRST_REQUESTS = [
  'kubernetes/clusters',
  'notifications/notifications',
  'scaffolder/v2/actions',
  'search/query?term=app',
  'techdocs/metadata/techdocs/default/component/app',
  'user-settings/buckets/starredEntities/keys/entityRefs',
];

const APP = '/catalog/default/component/app';

const markOf = (tenant: string) => `only-${tenant}-has-this`;

function entitiesOf(tenant: string, portal: Portal): object[] {
  const made = portal.sources.serveComponent(
    `/made-${tenant}.yaml`,
    `made-by-${tenant}`,
  );
  return [
    {
      apiVersion: 'backstage.io/v1alpha1',
      kind: 'Component',
      metadata: {
        name: 'app',
        title: markOf(tenant),
        annotations: {
          'backstage.io/kubernetes-id': 'app',
          'backstage.io/techdocs-ref': 'dir:.',
        },
      },
      spec: { type: 'service', lifecycle: 'production', owner: 'guests' },
    },
    {
      apiVersion: 'backstage.io/v1alpha1',
      kind: 'Resource',
      metadata: {
        name: 'cluster',
        title: `Cluster ${markOf(tenant)}`,
        annotations: {
          'kubernetes.io/api-server': `http://${portal.clusters.host}/${tenant}`,
          'kubernetes.io/api-server-certificate-authority': '',
          'kubernetes.io/auth-provider': 'localKubectlProxy',
        },
      },
      spec: { type: 'kubernetes-cluster', owner: 'guests' },
    },
    {
      apiVersion: 'scaffolder.backstage.io/v1beta3',
      kind: 'Template',
      metadata: { name: 'make', title: `Make ${markOf(tenant)}` },
      spec: {
        type: 'service',
        owner: 'guests',
        parameters: [
          { title: 'What to make', properties: { note: { type: 'string' } } },
        ],
        steps: [
          {
            id: 'register',
            name: 'Register',
            action: 'catalog:register',
            input: { catalogInfoUrl: made },
          },
        ],
      },
    },
  ];
}

/** Gives a tenant what the tests look at. */
async function furnish(portal: Portal, tenant: string): Promise<void> {
  addMarker(tenant, new RegExp(`only-${tenant}-has|pod-of-${tenant}`));
  const target = portal.sources.serve(
    `/all-of-${tenant}.yaml`,
    entitiesOf(tenant, portal)
      .map(entity => JSON.stringify(entity))
      .join('\n---\n'),
  );
  await portal.call('guest', 'catalog/locations', {
    method: 'POST',
    tenant,
    body: { type: 'url', target },
  });
  for (const ref of ['component/default/app', 'template/default/make']) {
    await portal.untilServed(tenant, ref);
  }
  // The first request of a tenant has its instance make its tables.
  for (const path of FIRST_REQUESTS) {
    await waitUntil(`${path} of ${tenant}`, async () => {
      const { status } = await portal.request('guest', path, { tenant });
      return status < 500;
    });
  }
}

/** What members of three tenants do with plugins of which each tenant has an instance. */
export function testPlugins(): void {
  part('the plugins of each tenant', () => {
    inBrowser('begin with what the tests give them', async ({ portal }) => {
      for (const { tenant, user } of TENANTS) {
        if (tenant !== 'default') {
          await portal.createTenant({
            slug: tenant,
            name: tenant,
            component: 'first',
            members: [`user:default/${user}`],
          });
        }
        await furnish(portal, tenant);
      }
    });

    const shows = (
      name: string,
      look: (
        visitor: Visitor,
        portal: Portal,
        member: { tenant: string; user: User },
      ) => Promise<void>,
    ) =>
      TENANTS.forEach(member => {
        const { tenant, user } = member;
        inBrowser(`${name} in ${tenant}`, async ({ portal, visit }) => {
          const at = tenant === 'default' ? undefined : tenant;
          const visitor = await visit({ at, as: user });
          visitor.traffic.expect([tenant]);
          await look(visitor, portal, member);
          await visitor.expectNothingForeign(tenant);
          // Some of these pages never come to rest: they poll, or show how far something is.
          await visitor.page.goto('/');
        });
      });

    shows('keep a star', async visitor => {
      await visitor.open(APP);
      const { page } = visitor;
      await page.getByRole('button', { name: 'Add to favorites' }).click();
      const remove = page.getByRole('button', {
        name: 'Remove from favorites',
      });
      await remove.waitFor();
      await visitor.open(APP);
      await remove.waitFor();
    });

    shows('show the pods of a cluster', async (visitor, _, { tenant }) => {
      await visitor.open(`${APP}/kubernetes`);
      await visitor.page.getByText(`Cluster ${markOf(tenant)}`).waitFor();
      await visitor.page.getByText('1 pod', { exact: true }).waitFor();
      expect(
        visitor.traffic.calls.some(({ body }) =>
          body.includes(`"pod-of-${tenant}"`),
        ),
      ).toBe(true);
    });

    shows('show a document', async (visitor, portal, { tenant }) => {
      const { tenant_id: tenantId } = (await portal.call(
        'guest',
        `tenants/${tenant}`,
      )) as { tenant_id: string };
      await publishDocument(
        portal.documents,
        { tenantId },
        {
          component: 'app',
          title: `Document ${markOf(tenant)}`,
          text: 'To be read.',
        },
      );
      await visitor.open('/docs/default/component/app');
      await visitor.page
        .getByRole('heading', { name: `Document ${markOf(tenant)}` })
        .first()
        .waitFor();
    });

    shows('run a template', async (visitor, portal, { tenant }) => {
      const { page } = visitor;
      await visitor.open('/create/templates/default/make');
      await page.getByRole('button', { name: 'Review' }).click();
      await page.getByRole('button', { name: 'Create' }).click();
      await portal.untilServed(tenant, `made-by-${tenant}`);
      await page.goto(`/catalog/default/component/made-by-${tenant}`);
      await page.getByText(`What made-by-${tenant} does`).waitFor();
    });

    shows('signal a notification', async (visitor, portal, member) => {
      const { tenant, user } = member;
      await visitor.open('/notifications');
      await visitor.untilQuiet();
      const title = `News ${markOf(tenant)}`;
      for (const other of TENANTS.filter(each => each !== member)) {
        await portal.notify(
          other.tenant,
          `user:default/${user}`,
          `News ${markOf(other.tenant)}`,
        );
      }
      await waitUntil('the signal', async () => {
        // Until the page has subscribed.
        await portal.notify(tenant, `user:default/${user}`, title);
        return (await visitor.page.getByText(title).count()) > 0;
      });
    });
  });
}
