import {
  type DatabaseConnection,
  POOL_SIZE,
  serve,
  startBackend,
  USER,
} from '../harness/servers';

// Ours as it runs in production: a Backstage backend with all that Backstage
// puts around a plugin, from helmet, CORS and compression to the log of every
// request and the verification of the caller's signed token.

serve<{ connection: DatabaseConnection }>(({ connection }) =>
  startBackend({
    plugin: 'mockup',
    connection,
    poolSize: POOL_SIZE,
    guest: USER,
    // What a policy costs is up to the policy.
    config: { permission: { enabled: false } },
    features: [import('backstage-plugin-mockup-backend')],
  }),
);
