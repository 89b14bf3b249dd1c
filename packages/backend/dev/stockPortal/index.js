// The backend of a repository that is not this one, in the form in which `create-app`
// makes it.

const { createBackend } = require('@backstage/backend-defaults');

const backend = createBackend();

backend.add(import('@backstage/plugin-auth-backend'));
backend.add(import('@backstage/plugin-catalog-backend'));
backend.add(import('@backstage/plugin-permission-backend'));
backend.add(
  import('@backstage/plugin-permission-backend-module-allow-all-policy'),
);

backend.add(import('backstage-plugin-catalog-backend-module-tenancy'));
backend.add(import('backstage-plugin-tenants-backend'));
backend.add(import('backstage-plugin-mockup-backend'));

backend.start();
