// Ours without Backstage around it: the plugin in a bare express app, on
// services that cost nothing, which compares like with like.

import { createSpecializedBackend } from '@backstage/backend-app-api';
import { lifecycleServiceFactory } from '@backstage/backend-defaults/lifecycle';
import { rootLifecycleServiceFactory } from '@backstage/backend-defaults/rootLifecycle';
import express from 'express';
import { listen, serve } from '../../harness/serve';
import type { ServerSettings } from './settings';
import { createTrivialServices } from './trivialServices';

serve<ServerSettings>(async settings => {
  const app = express();
  const backend = createSpecializedBackend({
    defaultServiceFactories: [
      lifecycleServiceFactory,
      rootLifecycleServiceFactory,
      ...createTrivialServices(app, settings),
    ],
  });
  backend.add(import('backstage-plugin-mockup-backend'));
  await backend.start();
  return await listen(app);
});
