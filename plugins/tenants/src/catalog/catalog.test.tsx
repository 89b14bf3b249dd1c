import type { Entity } from '@backstage/catalog-model';
import type { AppNode, ExtensionDataRef } from '@backstage/frontend-plugin-api';
import {
  createExtensionTester,
  renderInTestApp,
} from '@backstage/frontend-test-utils';
import { EntityProvider } from '@backstage/plugin-catalog-react';
import {
  EntityCardBlueprint,
  EntityContentBlueprint,
  EntityContextMenuItemBlueprint,
} from '@backstage/plugin-catalog-react/alpha';
import { screen } from '@testing-library/react';
import axe from 'axe-core';
import { ANNOTATION_SHARED_FROM } from 'backstage-plugin-tenants-common';
import { sharedFromCard, unregisterOwn } from './catalogModule';
import { ofOpenTenant } from './ofOpenTenant';
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

async function expectNoBarrier() {
  const { violations } = await axe.run(document.body, {
    rules: { region: { enabled: false } },
  });
  expect(violations).toEqual([]);
}

describe('where entities are from', () => {
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
