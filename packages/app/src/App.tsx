import { createApp } from '@backstage/frontend-defaults';
import { createFrontendModule } from '@backstage/frontend-plugin-api';
import { SignInPageBlueprint } from '@backstage/plugin-app-react';
import tenants from 'backstage-plugin-tenants';
import { navigation } from './navigation/Navigation';
import { oidcAuthApi } from './signIn/providers';

const signInPage = SignInPageBlueprint.make({
  params: {
    loader: async () => (await import('./signIn/SignInPage')).SignInPage,
  },
});

/** The frame around the pages of the plugins. */
const frame = createFrontendModule({
  pluginId: 'app',
  extensions: [navigation, oidcAuthApi, signInPage],
});

/**
 * The portal. The plugins that are dependencies of this package are found by themselves
 * (`app.packages: all` in app-config.yaml).
 */
export function createPortalApp() {
  return createApp({ features: [frame, tenants] });
}
