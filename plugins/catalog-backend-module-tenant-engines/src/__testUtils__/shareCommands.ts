import { createBackendModule } from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
import {
  tenantEnginesServiceRef,
  tenantShareStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { setTimeout as delay } from 'node:timers/promises';

/** What a test sends to the process of a backend. */
export type ShareCommand =
  | { action: 'feed'; tenantId: string; entities: Entity[] }
  | { action: 'share'; slug: string; target: string; filter: string }
  | { action: 'end'; slug: string; shareId: string };

const PAUSE_MS = 200;

/** Has a test feed tenants, and make and end shares. What comes of it is in the database. */
export const shareCommands = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'share-commands',
  register(env) {
    env.registerInit({
      deps: {
        engines: tenantEnginesServiceRef,
        shares: tenantShareStoreServiceRef,
      },
      async init({ engines, shares }) {
        const carryOut = async (command: ShareCommand): Promise<unknown> => {
          if (command.action === 'share') {
            const { slug, target, filter } = command;
            const share = { targets: [target], filter: [filter] };
            return shares.create(slug, share, { by: 'test' });
          }
          if (command.action === 'end') {
            return shares.delete(command.slug, command.shareId);
          }
          const entities = command.entities.map(entity => ({ entity }));
          return engines.applyMutation(command.tenantId, {
            type: 'full',
            entities,
          });
        };
        const untilDone = async (command: ShareCommand): Promise<void> => {
          try {
            await carryOut(command);
          } catch {
            // Such as an engine that has not started.
            await delay(PAUSE_MS);
            await untilDone(command);
          }
        };
        process.on('message', untilDone);
      },
    });
  },
});
