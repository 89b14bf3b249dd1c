import { createTranslationRef } from '@backstage/frontend-plugin-api';

/** The texts of the app's own frame, to be translated. */
export const portalTranslationRef = createTranslationRef({
  id: 'portal',
  messages: {
    signIn: {
      title: 'Sign in',
      guests: {
        title: 'Users of this local portal. They need no password.',
        anna: {
          name: 'Anna, of Acme',
          description: 'Member of the tenant Acme',
        },
        peter: {
          name: 'Peter, of Initech',
          description: 'Member of the tenant Initech',
        },
        guest: {
          name: 'Administrator',
          description: 'Enters every tenant, and administers all',
        },
      },
      tenant: 'Continue with your organization',
      oidc: 'Continue with your account',
      oidcOf: 'Continue with your account at {{organization}}',
      providers: {
        none: 'No way to sign in is configured.',
        noneHint:
          'Configure a provider under auth.providers, and restart the backend.',
      },
      failed: 'Signing in failed',
      notResumed: 'The portal could not sign you in again',
      slow: 'The backend has not answered yet. The portal opens as soon as it does.',
      windowClosed:
        'The window for signing in was closed before it was done, or the browser did not let it open.',
    },
    navigation: {
      search: 'Search',
      menu: 'Menu',
      settings: 'Settings',
      home: 'Home',
    },
  },
});
