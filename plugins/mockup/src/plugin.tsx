import {
  ApiBlueprint,
  createExtensionInput,
  createFrontendPlugin,
  discoveryApiRef,
  fetchApiRef,
  PageBlueprint,
} from '@backstage/frontend-plugin-api';
import { EntityContentBlueprint } from '@backstage/plugin-catalog-react/alpha';
import { RiLayoutMasonryLine, RiPagesLine } from '@remixicon/react';
import { MockupClient } from 'backstage-plugin-mockup-common';
import { mockupApiRef } from './api';
import { containerComponents } from './components/containers/containerComponents';
import {
  collectComponents,
  mockupComponentDataRef,
  mockupComponentsApiRef,
} from './components/registry/MockupComponentBlueprint';
import { stockComponents } from './components/registry/stockComponents';
import { liveComponents } from './components/live/liveComponents';
import { isMockupsAvailable } from './entity/annotation';
import {
  mockupRouteRef,
  pageRouteRef,
  pagesRouteRef,
  rootRouteRef,
} from './routes';

const mockupApi = ApiBlueprint.make({
  params: defineParams =>
    defineParams({
      api: mockupApiRef,
      deps: { discoveryApi: discoveryApiRef, fetchApi: fetchApiRef },
      factory: ({ discoveryApi, fetchApi }) =>
        new MockupClient({ discoveryApi, fetchApi }),
    }),
});

const componentsApi = ApiBlueprint.makeWithOverrides({
  name: 'components',
  inputs: { components: createExtensionInput([mockupComponentDataRef]) },
  factory: (original, { inputs }) =>
    original(defineParams =>
      defineParams({
        api: mockupComponentsApiRef,
        deps: {},
        // What is wrong with a component is shown where mockups are, and not in the whole app.
        factory: () =>
          collectComponents(
            inputs.components.map(input => ({
              extension: input.node.spec.id,
              component: input.get(mockupComponentDataRef),
            })),
          ),
      }),
    ),
});

const mockupsPage = PageBlueprint.make({
  params: {
    path: '/mockups',
    routeRef: rootRouteRef,
    title: 'Mockups',
    icon: <RiLayoutMasonryLine />,
    loader: () =>
      import('./MockupsPage').then(({ MockupsPage }) => <MockupsPage />),
  },
});

/** The pages that mockups were published as. */
const publishedPages = PageBlueprint.make({
  name: 'pages',
  params: {
    path: '/pages',
    routeRef: pagesRouteRef,
    title: 'Pages',
    icon: <RiPagesLine />,
    loader: () =>
      import('./pages/PagesPage').then(({ PagesPage }) => <PagesPage />),
  },
});

/** A tab on the page of an entity that names mockups. */
export const entityMockupsContent = EntityContentBlueprint.make({
  params: {
    path: '/mockups',
    title: 'Mockups',
    icon: <RiLayoutMasonryLine />,
    filter: isMockupsAvailable,
    loader: () =>
      import('./entity/EntityMockups').then(({ EntityMockups }) => (
        <EntityMockups />
      )),
  },
});

/**
 * A tab with the published page at the kind of the entity, such as `/pages/component`. It is for
 * portals that enable it, and say for which entities.
 */
export const entityPageContent = EntityContentBlueprint.make({
  name: 'page',
  disabled: true,
  params: {
    path: '/page',
    title: 'Page',
    icon: <RiPagesLine />,
    loader: () =>
      import('./entity/EntityPage').then(({ EntityPage }) => <EntityPage />),
  },
});

/**
 * The mockups: their list, editor and history. An app finds it by itself
 * (`app.packages: all`), or has it among its `features`.
 *
 * @public
 */
export const mockupPlugin = createFrontendPlugin({
  pluginId: 'mockup',
  title: 'Mockups',
  info: { packageJson: () => import('../package.json') },
  routes: {
    root: rootRouteRef,
    mockup: mockupRouteRef,
    pages: pagesRouteRef,
    page: pageRouteRef,
  },
  extensions: [
    mockupApi,
    componentsApi,
    ...stockComponents,
    ...containerComponents,
    ...liveComponents,
    mockupsPage,
    publishedPages,
    entityMockupsContent,
    entityPageContent,
  ],
});
