import type { Portal } from './Portal';

/** A tenant with sources that its admins configure. */
export async function addGlobex(portal: Portal): Promise<void> {
  await portal.call('guest', 'tenants', {
    method: 'POST',
    body: { tenant_slug: 'globex', tenant_name: 'Globex' },
  });
  await portal.call('guest', 'tenants/globex/catalog-config', {
    method: 'PUT',
    body: {
      catalog: {
        locations: [
          {
            type: 'url',
            target:
              'https://git.example.com/globex/catalog/blob/main/catalog-info.yaml',
          },
        ],
      },
    },
  });
}

/** A component of Acme that names a mockup. */
export async function addEntityOf(
  portal: Portal,
  mockupId: string,
): Promise<void> {
  const target = portal.sources.serveComponent(
    '/storefront.yaml',
    'storefront',
    { 'mockup.backstage.io/mockups': mockupId },
  );
  await portal.call('guest', 'catalog/locations', {
    method: 'POST',
    tenant: 'acme',
    body: { type: 'url', target },
  });
  await portal.untilServed('acme', 'storefront');
}

/** A page that Anna lays out, before and after, and publishes then. */
export async function addMockup(portal: Portal): Promise<string> {
  const post = (path: string, body: unknown, method = 'POST') =>
    portal.call('anna', `mockup${path}`, { method, tenant: 'acme', body });
  const { id } = (await post('/mockups', {
    name: 'Start page',
    description: 'What everybody at Acme sees first',
  })) as { id: string };
  const shares = [
    { group: 'group:default/storefront', access: 'write' },
    { group: 'group:default/guests', access: 'read' },
  ];
  await post(`/mockups/${id}/shares`, { shares }, 'PUT');
  const item = (
    component: string,
    [x, y, w, h]: number[],
    props: Record<string, unknown>,
  ) => ({ i: component, x, y, w, h, component, props });
  const chart = {
    title: 'Deliveries',
    type: 'bar',
    data: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri'].map((label, index) => ({
      label,
      value: [3, 7, 5, 9, 4][index],
    })),
  };
  const links = {
    title: 'Links',
    links: [
      { label: 'Catalog', href: '/catalog' },
      { label: 'Tracking', href: '/catalog?filters[user]=all' },
    ],
  };
  await post(`/mockups/${id}/versions`, {
    versionTag: 'First draft',
    layoutData: [
      item('header', [0, 0, 12, 2], { title: 'Welcome to Acme', level: 2 }),
      item('text', [0, 2, 8, 3], { text: 'Find what drives the vans.' }),
      item('chart', [0, 5, 6, 7], { ...chart, type: 'line' }),
      item('image', [8, 2, 4, 5], { alt: 'A van' }),
    ],
  });
  const { id: versionId } = (await post(`/mockups/${id}/versions`, {
    versionTag: 'For review',
    message: 'The chart has bars, and links lead on from here.',
    layoutData: [
      item('header', [0, 0, 12, 2], { title: 'Welcome to Acme', level: 2 }),
      item('text', [0, 2, 8, 3], { text: 'Find all that drives the vans.' }),
      item('chart', [4, 5, 8, 7], chart),
      item('link-list', [0, 5, 4, 7], links),
      item('entity-table', [0, 12, 8, 7], {
        title: 'What we run',
        filter: ['kind=component'],
        columns: ['type', 'owner'],
      }),
      item('entity-count', [8, 12, 4, 7], {
        label: 'Components',
        filter: ['kind=component'],
      }),
    ],
  })) as { id: string };
  const page = { mockupId: id, versionId, audience: 'everybody' };
  await post('/pages/start', page, 'PUT');
  return id;
}
