import { createApp } from '@backstage/frontend-defaults';
import {
  createFrontendModule,
  createTranslationMessages,
} from '@backstage/frontend-plugin-api';
import {
  SignInPageBlueprint,
  TranslationBlueprint,
} from '@backstage/plugin-app-react';
import { catalogTranslationRef } from '@backstage/plugin-catalog/alpha';
import tenants from 'backstage-plugin-tenants';
import { navigation } from './navigation/Navigation';
import { oidcAuthApi } from './signIn/providers';

const signInPage = SignInPageBlueprint.make({
  params: {
    loader: async () => (await import('./signIn/SignInPage')).SignInPage,
  },
});

// Each tenant has its own catalog: none is that of the organization that runs the portal.
const catalogTitle = TranslationBlueprint.make({
  name: 'catalog',
  params: {
    resource: createTranslationMessages({
      ref: catalogTranslationRef,
      messages: { 'indexPage.title': 'Catalog' },
    }),
  },
});

/** The frame around the pages of the plugins. */
const frame = createFrontendModule({
  pluginId: 'app',
  extensions: [catalogTitle, navigation, oidcAuthApi, signInPage],
});

/**
 * The portal. The plugins that are dependencies of this package are found by themselves
 * (`app.packages: all` in app-config.yaml).
 */
export function createPortalApp() {
  return createApp({ features: [frame, tenants] });
}
