import type { Entity } from '@backstage/catalog-model';
import { createFrontendModule } from '@backstage/frontend-plugin-api';
import catalogPlugin from '@backstage/plugin-catalog/alpha';
import {
  CatalogFilterBlueprint,
  EntityCardBlueprint,
} from '@backstage/plugin-catalog-react/alpha';
import { ofOpenTenant } from './ofOpenTenant';
import { sharedFrom } from './origin';

const isCopy = (entity: Entity) => sharedFrom(entity) !== undefined;

export const originFilter = CatalogFilterBlueprint.make({
  name: 'origin',
  params: {
    loader: () =>
      import('./OriginPicker').then(({ OriginPicker }) => <OriginPicker />),
  },
});

export const sharedFromCard = EntityCardBlueprint.make({
  name: 'shared-from',
  params: {
    type: 'info',
    filter: isCopy,
    loader: () =>
      import('./SharedFromCard').then(({ SharedFromCard }) => (
        <SharedFromCard />
      )),
  },
});

/** A copy can't be removed where it is received: the backend answers 409. */
export const unregisterOwn = catalogPlugin
  .getExtension('entity-context-menu-item:catalog/unregister-entity')
  .override({ params: { filter: entity => !isCopy(entity) } });

export const entityPage = catalogPlugin
  .getExtension('page:catalog/entity')
  .override({
    factory: (originalFactory, { apis, inputs }) =>
      originalFactory({
        inputs: { ...inputs, contents: ofOpenTenant(apis, inputs.contents) },
      }),
  });

export const overview = catalogPlugin
  .getExtension('entity-content:catalog/overview')
  .override({
    factory: (originalFactory, { apis, inputs }) =>
      originalFactory({
        inputs: { ...inputs, cards: ofOpenTenant(apis, inputs.cards) },
      }),
  });

export const about = catalogPlugin
  .getExtension('entity-card:catalog/about')
  .override({
    factory: (originalFactory, { apis, inputs }) =>
      originalFactory({
        inputs: { iconLinks: ofOpenTenant(apis, inputs.iconLinks) },
      }),
  });

/**
 * Tells own entities from those that other tenants share, on the catalog's pages, and shows of an
 * entity what the open tenant has.
 */
export const catalogModule = createFrontendModule({
  pluginId: 'catalog',
  extensions: [
    originFilter,
    sharedFromCard,
    unregisterOwn,
    entityPage,
    overview,
    about,
  ],
});
