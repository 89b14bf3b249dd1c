import type { Entity } from '@backstage/catalog-model';
import { discoveryApiRef, fetchApiRef } from '@backstage/frontend-plugin-api';
import { mockApis, renderInTestApp } from '@backstage/frontend-test-utils';
import {
  catalogApiRef,
  entityRouteRef,
  MockStarredEntitiesApi,
  starredEntitiesApiRef,
} from '@backstage/plugin-catalog-react';
import { catalogApiMock } from '@backstage/plugin-catalog-react/testUtils';
import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { countQueries } from 'backstage-plugin-mockup-common';
import { componentsOf, registryOf } from '../../__testUtils__/components';
import { itemOf, seriousProblems } from '../../__testUtils__/mockups';
import { LayoutView } from '../LayoutView';
import {
  type MockupComponent,
  mockupComponentsApiRef,
} from '../registry/MockupComponentBlueprint';
import { frameAddress } from './frameAddress';
import { liveComponents } from './liveComponents';
import { fillIn, placesIn } from './parameters';

const entityOf = (name: string, type: string, more: object = {}): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: { name, namespace: 'default', ...more },
  spec: { type, lifecycle: 'production' },
  relations: [{ type: 'ownedBy', targetRef: 'group:default/team-a' }],
});

const ENTITIES = [
  entityOf('website', 'website', {
    description: 'What customers see',
    annotations: { 'acme/notes': '# Notes of the team' },
    links: [
      { url: 'https://example.com/board', title: 'Board' },
      // A linter takes the whole address for a mistake.
      { url: `${'javascript'}:alert(1)`, title: 'Harm' },
    ],
  }),
  entityOf('payments', 'service'),
  entityOf('orders', 'service'),
];

const live = componentsOf(liveComponents);

type Items = Parameters<typeof LayoutView>[0]['items'];

async function render(
  items: Items,
  more: MockupComponent[] = [],
  apis: [any, any][] = [],
) {
  const catalogApi = catalogApiMock({ entities: ENTITIES });
  const spies = {
    byRefs: jest.spyOn(catalogApi, 'getEntitiesByRefs'),
    query: jest.spyOn(catalogApi, 'queryEntities'),
    facets: jest.spyOn(catalogApi, 'getEntityFacets'),
  };
  await renderInTestApp(
    <LayoutView
      items={items.map((item, at) => ({ ...item, i: String(at) }))}
    />,
    {
      apis: [
        [mockupComponentsApiRef, registryOf(...live, ...more)],
        [catalogApiRef, catalogApi],
        ...apis,
        [starredEntitiesApiRef, new MockStarredEntitiesApi()],
      ],
      config: { mockup: { frames: { hosts: ['grafana.example.com'] } } },
      mountedRoutes: { '/catalog/:namespace/:kind/:name': entityRouteRef },
    },
  );
  return spies;
}

const SERVICES = { filter: ['kind=component', 'spec.type=service'] };

describe('live components', () => {
  it('show entities, numbers and texts of the catalog', async () => {
    const website = 'component:default/website';
    await render([
      itemOf('entity-table', {
        ...SERVICES,
        limit: 1,
        columns: ['owner', 'lifecycle'],
      }),
      itemOf('entity-cards', { filter: ['spec.type=website'] }),
      itemOf('entity-fields', { entityRef: website }),
      itemOf('entity-count', { label: 'Services', ...SERVICES }),
      itemOf('entity-chart', {
        filter: ['kind=component'],
        field: 'spec.type',
      }),
      itemOf('markdown', { entityRef: website, annotation: 'acme/notes' }),
      itemOf('starred-entities', {}),
    ]);
    expect(await screen.findByRole('link', { name: 'orders' })).toHaveAttribute(
      'href',
      '/catalog/default/component/orders',
    );
    expect(screen.getByText('1 of 2')).toBeVisible();
    expect(await screen.findByRole('link', { name: 'Board' })).toBeVisible();
    expect(screen.queryByRole('link', { name: 'Harm' })).toBeNull();
    expect(await screen.findByText('2')).toBeVisible();
    expect(
      await screen.findByRole('img', {
        name: 'spec.type. service: 2, website: 1',
      }),
    ).toBeVisible();
    expect(
      await screen.findByRole('heading', { name: 'Notes of the team' }),
    ).toBeVisible();
    expect(screen.getByText('You have starred no entity yet.')).toBeVisible();
    expect(await seriousProblems()).toEqual([]);
  });

  it('show what the search finds, and notifications that are not read', async () => {
    const fetchApi = mockApis.fetch({
      baseImplementation: async input =>
        Response.json(
          String(input).includes('/search/')
            ? {
                results: [
                  {
                    document: {
                      title: 'Guide',
                      location: '/docs/guide',
                      text: 'How to begin',
                    },
                  },
                ],
              }
            : {
                notifications: [
                  {
                    payload: { title: 'Built', link: 'https://example.com/1' },
                  },
                  { payload: { title: 'Approved' } },
                ],
              },
        ),
    });
    const asked = jest.spyOn(fetchApi, 'fetch');
    await render(
      [
        itemOf('search-results', { term: 'a guide' }),
        itemOf('notifications', { limit: 2 }),
      ],
      [],
      [
        [fetchApiRef, fetchApi],
        [discoveryApiRef, mockApis.discovery()],
      ],
    );
    expect(await screen.findByRole('link', { name: 'Guide' })).toHaveAttribute(
      'href',
      '/docs/guide',
    );
    expect(screen.getByText('How to begin')).toBeVisible();
    expect(await screen.findByRole('link', { name: 'Built' })).toHaveAttribute(
      'target',
      '_blank',
    );
    expect(screen.getByRole('link', { name: 'Approved' })).toHaveAttribute(
      'href',
      '/notifications',
    );
    expect(asked.mock.calls.map(([input]) => String(input))).toEqual([
      expect.stringMatching(
        /\/api\/search\/query\?term=a\+guide&pageLimit=10$/,
      ),
      expect.stringMatching(
        /\/api\/notifications\/notifications\?limit=2&read=false&/,
      ),
    ]);
  });

  it('ask together for entities, and once for what several show', async () => {
    const { byRefs, query } = await render([
      ...['website', 'payments', 'orders', 'website', 'gone'].map(name =>
        itemOf('entity-fields', { entityRef: `component:default/${name}` }),
      ),
      ...['a', 'b', 'c'].map(() => itemOf('entity-table', SERVICES)),
    ]);
    expect(await screen.findAllByText('What customers see')).toHaveLength(2);
    expect(await screen.findByText('There is nothing to show.')).toBeVisible();
    await waitFor(() => expect(query).toHaveBeenCalledTimes(1));
    const asked = byRefs.mock.calls.map(([{ entityRefs }]) => entityRefs);
    // The names of entities are looked up by the catalog's own parts.
    expect(
      asked.filter(refs => refs.includes('component:default/gone')),
    ).toEqual([
      ['website', 'payments', 'orders', 'gone'].map(
        name => `component:default/${name}`,
      ),
    ]);
  });

  it('fail one by one, and are asked again', async () => {
    let isAway = true;
    const flaky: MockupComponent = {
      name: 'flaky',
      title: 'Flaky',
      schema: { type: 'object' },
      defaultProps: {},
      defaultSize: { w: 1, h: 1 },
      data: {
        async query() {
          if (isAway) {
            throw new Error('It is away');
          }
          return 'It is back';
        },
      },
      loader:
        async () =>
        ({ data }) =>
          <>{String(data)}</>,
    };
    await render(
      [itemOf('flaky'), itemOf('markdown', { text: 'Beside it' })],
      [flaky],
    );
    expect(await screen.findByRole('alert')).toHaveTextContent('It is away');
    expect(await screen.findByText('Beside it')).toBeVisible();
    isAway = false;
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByText('It is back')).toBeVisible();
    await waitFor(() => expect(document.body).not.toHaveFocus());
  });

  it('ask for a hundred things at most', async () => {
    await render(
      Array.from({ length: 101 }, (_, at) =>
        itemOf('markdown', { text: `Text ${at}` }),
      ),
    );
    expect(await screen.findByText(/The page asks for too much/)).toBeVisible();
    expect(screen.getByText('Text 99')).toBeVisible();
  });

  it('show frames of allowed hosts alone', async () => {
    await render([
      itemOf('frame', {
        src: 'https://grafana.example.com/d/1',
        title: 'Load',
      }),
      itemOf('frame', { src: 'https://evil.example.com', title: 'Other' }),
    ]);
    const frame = await screen.findByTitle('Load');
    expect(frame).toHaveAttribute('src', 'https://grafana.example.com/d/1');
    expect(frame).toHaveAttribute('sandbox');
    expect(screen.queryByTitle('Other')).toBeNull();
    expect(
      screen.getByText(/may be of these hosts, with https: grafana/),
    ).toBeVisible();
  });
});

it.each([
  ['http://grafana.example.com', undefined],
  ['https://grafana.example.com:444', undefined],
  ['https://user@grafana.example.com', undefined],
  ['https://grafana.example.com.evil.org', undefined],
  [`${'javascript'}://grafana.example.com`, undefined],
  ['//grafana.example.com', undefined],
  [`https://${window.location.host}`, undefined],
  ['https://grafana.example.com/x?y', 'https://grafana.example.com/x?y'],
])('a frame with the address %s has %s', (address, expected) => {
  const hosts = ['grafana.example.com', window.location.host];
  expect(frameAddress(address, hosts)).toBe(expected);
});

it('are all known to the backend, which bounds what a layout asks for', () => {
  const asking = live
    .filter(({ data }) => data)
    .map(({ name }) => itemOf(name));
  expect(countQueries([...asking, ...asking])).toBe(asking.length);
  const silent = live.filter(({ data }) => !data);
  expect(countQueries(silent.map(({ name }) => itemOf(name)))).toBe(0);
});

it('fills in what the address of a page says, in texts alone, and nothing twice', () => {
  const items = [
    itemOf('a', {
      text: '{{ who }} and {{what}}',
      list: [{ ref: '{{what}}' }],
      n: 1,
    }),
  ];
  const address = new URLSearchParams({ what: '{{who}}', constructor: 'x' });
  const [{ props }] = fillIn(items, address);
  expect(props).toEqual({
    text: '{{ who }} and {{who}}',
    list: [{ ref: '{{who}}' }],
    n: 1,
  });
  expect(placesIn(props)).toEqual(['who']);
});
