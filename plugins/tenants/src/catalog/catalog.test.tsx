import type { Entity } from '@backstage/catalog-model';
import type { AppNode, ExtensionDataRef } from '@backstage/frontend-plugin-api';
import {
  createExtensionTester,
  renderInTestApp,
} from '@backstage/frontend-test-utils';
import {
  catalogApiRef,
  EntityKindFilter,
  EntityListProvider,
  EntityProvider,
  useEntityList,
} from '@backstage/plugin-catalog-react';
import {
  EntityCardBlueprint,
  EntityContentBlueprint,
  EntityContextMenuItemBlueprint,
} from '@backstage/plugin-catalog-react/alpha';
import { catalogApiMock } from '@backstage/plugin-catalog-react/testUtils';
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import axe from 'axe-core';
import { ANNOTATION_SHARED_FROM } from 'backstage-plugin-tenants-common';
import { useEffect } from 'react';
import { sharedFromCard, unregisterOwn } from './catalogModule';
import { ofOpenTenant } from './ofOpenTenant';
import { OriginPicker } from './OriginPicker';
import { SharedFromCard } from './SharedFromCard';

const apiOf = (name: string, from?: string): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'API',
  metadata: {
    name,
    namespace: 'default',
    annotations: from ? { [ANNOTATION_SHARED_FROM]: from } : {},
  },
});
const OWN = apiOf('own-api');
const COPY = apiOf('copied-api', 'umbrella');

function Names() {
  const { entities, updateFilters } = useEntityList();
  useEffect(
    () => updateFilters({ kind: new EntityKindFilter('api', 'API') }),
    [updateFilters],
  );
  return <p>{entities.map(({ metadata }) => metadata.name).join()}</p>;
}

/** The list of a catalog, with the filter beside it. */
const renderList = (entities: Entity[], search = '') =>
  renderInTestApp(
    <EntityListProvider pagination>
      <OriginPicker />
      <Names />
    </EntityListProvider>,
    {
      apis: [[catalogApiRef, catalogApiMock({ entities })]],
      initialRouteEntries: [`/${search}`],
    },
  );

async function expectNoBarrier() {
  const { violations } = await axe.run(document.body, {
    rules: { region: { enabled: false } },
  });
  expect(violations).toEqual([]);
}

describe('where entities are from', () => {
  it('filters a catalog', async () => {
    renderList([OWN, COPY]);
    await screen.findByText('copied-api,own-api');
    const choose = async (name: string) => {
      await userEvent.click(await screen.findByRole('button', { name: 'all' }));
      const list = within(await screen.findByRole('listbox'));
      await userEvent.click(list.getByRole('option', { name }));
    };
    await choose('Own');
    await screen.findByText('own-api');
    expect(window.location.search).toContain('filters%5Borigin%5D=own');
  });

  it('filters a catalog by its address', async () => {
    renderList([OWN, COPY], '?filters[origin]=shared');
    expect(await screen.findByText('copied-api')).toBeVisible();
    await expectNoBarrier();
  });

  it('is no filter where nothing is shared', async () => {
    renderList([OWN]);
    await screen.findByText('own-api');
    expect(screen.queryByText('Origin')).not.toBeInTheDocument();
  });

  it('is said of a copy', async () => {
    renderInTestApp(
      <EntityProvider entity={COPY}>
        <SharedFromCard />
      </EntityProvider>,
    );
    await screen.findByRole('heading', { name: 'Shared by umbrella' });
    await expectNoBarrier();
    const isShown = createExtensionTester(sharedFromCard).get(
      EntityCardBlueprint.dataRefs.filterFunction,
    )!;
    expect([COPY, OWN].map(isShown)).toEqual([true, false]);
  });

  it('decides whether one can unregister it', () => {
    const isShown = createExtensionTester(unregisterOwn).get(
      EntityContextMenuItemBlueprint.dataRefs.filterFunction,
    )!;
    expect([COPY, OWN].map(isShown)).toEqual([false, true]);
  });
});

describe('the page of an entity', () => {
  const { filterFunction, filterExpression, title } =
    EntityContentBlueprint.dataRefs;
  const pageTenant = { closedPlugins: [] as string[] };
  const apis = { get: () => pageTenant as never };

  /** What a plugin adds to the page. */
  const added = (pluginId: string, data: Record<string, unknown>) => ({
    node: { spec: { plugin: { pluginId } } } as AppNode,
    get: ({ id }: ExtensionDataRef) => data[id],
  });

  it('leaves out what plugins add that the open tenant does not have', () => {
    const ofOwn = (entity: Entity) => entity === OWN;
    const shown = ofOpenTenant(apis, [
      added('kubernetes', { [title.id]: 'Pods' }),
      added('techdocs', { [filterFunction.id]: ofOwn }),
      added('kubernetes', { [filterExpression.id]: 'kind:api' }),
    ]).map(each => each.get(filterFunction) as typeof ofOwn | undefined);
    const areShown = (entity: Entity) => shown.map(filter => filter?.(entity));
    expect(areShown(OWN)).toEqual([true, true, undefined]);
    expect(areShown(COPY)).toEqual([true, false, undefined]);

    // The tenant is known later than the page.
    pageTenant.closedPlugins = ['kubernetes'];
    expect(areShown(OWN)).toEqual([false, true, undefined]);
  });
});
