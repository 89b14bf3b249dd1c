import { addMarker } from '../harness/foreignData';
import { inBrowser, part } from '../harness/inBrowser';
import type { Portal } from '../harness/Portal';

const API = { kind: 'API', name: 'box-storage' };
const OWNED = { type: 'service', lifecycle: 'production', owner: 'guests' };
const TEMPLATE = { kind: 'Template', name: 'golden-path' };

/** What a member gets of that which another tenant shares. */
export function testShares(): void {
  part('what another tenant shares', () => {
    inBrowser(
      'is told from own entities, and seen in the graph with these alone',
      async ({ portal, visit }) => {
        await shareFromCyberdyne(portal);
        const consumer = portal.sources.serveEntities('/consumer.yaml', [
          {
            kind: 'Component',
            metadata: { name: 'label-printer' },
            spec: { ...OWNED, consumesApis: [API.name] },
          },
        ]);
        await portal.register('acme', consumer);
        await portal.untilServed('acme', 'label-printer');

        const visitor = await visit({ at: 'acme', as: 'anna' });
        visitor.traffic.expect(['acme']);
        const { page } = visitor;
        const lookAtPage = async () => {
          await page
            .getByRole('heading', { name: 'Shared by cyberdyne' })
            .waitFor();
        };
        await visitor.open(`/catalog/default/api/${API.name}`);
        await lookAtPage();
        await page
          .locator('svg text')
          .filter({ hasText: 'label-printer' })
          .waitFor();
        await visitor.expectNothingForeign('acme');
        await visitor.expectAccessible(lookAtPage);
        await page.getByRole('button', { name: 'more' }).click();
        await page.getByRole('menuitem', { name: /Inspect/ }).waitFor();
        expect(
          await page.getByRole('menuitem', { name: /Unregister/ }).count(),
        ).toBe(0);

        const tracking = page.getByRole('link', { name: 'tracking' });
        await visitor.open('/?filters[kind]=api&filters[user]=all');
        await tracking.waitFor();
        await page.getByText('Origin').waitFor();
        await visitor.open(
          '/?filters[kind]=api&filters[user]=all&filters[origin]=shared',
        );
        await page.getByRole('link', { name: API.name }).waitFor();
        await tracking.waitFor({ state: 'detached' });
        await visitor.expectNothingForeign('acme');
        await visitor.expectAccessible(async () => {
          await page.getByRole('link', { name: API.name }).waitFor();
        });
      },
    );

    inBrowser(
      'runs as a template in the tenant of the member',
      async ({ portal, visit }) => {
        await shareFromCyberdyne(portal);
        const visitor = await visit({ at: 'acme', as: 'anna' });
        const { page } = visitor;
        await visitor.open(`/create/templates/default/${TEMPLATE.name}`);
        await page.getByRole('textbox', { name: 'Text' }).fill('three vans');
        await page.getByRole('button', { name: 'Review' }).click();
        await page.getByRole('button', { name: 'Create', exact: true }).click();
        await page.waitForURL(/\/create\/tasks\//);
        await page.getByText('Noted: three vans').first().waitFor();
        await visitor.expectNothingForeign('acme');
        // The progress of a task stays on its page.
        await page.goto('/');
        const { tasks } = (await portal.call('anna', 'scaffolder/v2/tasks', {
          tenant: 'acme',
        })) as { tasks: { status: string; createdBy: string }[] };
        expect(tasks).toContainEqual(
          expect.objectContaining({
            status: 'completed',
            createdBy: 'user:default/anna',
          }),
        );
        const elsewhere = (await portal.call('guest', 'scaffolder/v2/tasks', {
          tenant: 'cyberdyne',
        })) as { tasks: unknown[] };
        expect(elsewhere.tasks).toEqual([]);
      },
    );
  });
}

let shared: Promise<void> | undefined;

/** Has a tenant share its API and its template with Acme, and not what provides the API. */
function shareFromCyberdyne(portal: Portal): Promise<void> {
  shared ??= share(portal);
  return shared;
}

async function share(portal: Portal): Promise<void> {
  addMarker('cyberdyne', /skynet/);
  await portal.createTenant({
    slug: 'cyberdyne',
    name: 'Cyberdyne',
    component: 'skynet',
  });
  const target = portal.sources.serveEntities('/cyberdyne-shares.yaml', [
    {
      kind: API.kind,
      metadata: { name: API.name, description: 'Keeps boxes' },
      spec: { ...OWNED, type: 'grpc', definition: 'rpc Keep' },
    },
    {
      kind: 'Component',
      metadata: { name: 'skynet-store' },
      spec: { ...OWNED, providesApis: [API.name] },
    },
    {
      apiVersion: 'scaffolder.backstage.io/v1beta3',
      kind: TEMPLATE.kind,
      metadata: { name: TEMPLATE.name, title: 'Golden path' },
      spec: {
        type: 'service',
        owner: 'guests',
        parameters: [
          {
            title: 'What to note',
            required: ['text'],
            properties: { text: { title: 'Text', type: 'string' } },
          },
        ],
        steps: [
          {
            id: 'log',
            name: 'Note it',
            action: 'debug:log',
            input: { message: 'Noted: ${{ parameters.text }}' },
          },
        ],
      },
    },
  ]);
  await portal.register('cyberdyne', target);
  await portal.untilServed('cyberdyne', 'skynet-store');
  await portal.call('guest', 'tenants/cyberdyne/shares', {
    method: 'POST',
    body: { targets: ['acme'], filter: ['kind=api', 'kind=template'] },
  });
  for (const { kind, name } of [API, TEMPLATE]) {
    await portal.untilServed('acme', `${kind.toLowerCase()}/default/${name}`);
  }
}
