import { createApp } from '@backstage/frontend-defaults';
import {
  createFrontendModule,
  createTranslationMessages,
} from '@backstage/frontend-plugin-api';
import {
  SignInPageBlueprint,
  TranslationBlueprint,
} from '@backstage/plugin-app-react';
import { apiDocsTranslationRef } from '@backstage/plugin-api-docs/alpha';
import { catalogTranslationRef } from '@backstage/plugin-catalog/alpha';
import tenants from 'backstage-plugin-tenants';
import { navigation } from './navigation/Navigation';
import { relationsComponent } from './pages/relationsComponent';
import { visits } from './pages/visitsApi';
import { visitsComponent } from './pages/visitsComponent';
import { oidcAuthApi } from './signIn/providers';

const signInPage = SignInPageBlueprint.make({
  params: {
    loader: async () => (await import('./signIn/SignInPage')).SignInPage,
  },
});

// Each tenant has its own catalog: none is that of the organization that runs the portal.
const titles = [
  createTranslationMessages({
    ref: catalogTranslationRef,
    messages: { 'indexPage.title': 'Catalog' },
  }),
  createTranslationMessages({
    ref: apiDocsTranslationRef,
    messages: { 'defaultApiExplorerPage.subtitle': 'API explorer' },
  }),
].map(resource =>
  TranslationBlueprint.make({ name: resource.id, params: { resource } }),
);

/** The frame around the pages of the plugins. */
const frame = createFrontendModule({
  pluginId: 'app',
  extensions: [
    ...titles,
    navigation,
    oidcAuthApi,
    relationsComponent,
    visitsComponent,
    signInPage,
  ],
});

/**
 * The portal. The plugins that are dependencies of this package are found by themselves
 * (`app.packages: all` in app-config.yaml).
 */
export function createPortalApp() {
  return createApp({ features: [frame, tenants, visits] });
}
