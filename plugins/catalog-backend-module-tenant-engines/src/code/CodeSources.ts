import {
  type BackendFeature,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import {
  catalogProcessingExtensionPoint,
  type EntityProviderConnection,
} from '@backstage/plugin-catalog-node';

import { SHARES_SOURCE } from '../shares/copies';

/** The default source of a mutation. */
export const DEFAULT_SOURCE = 'code';

/** The entity providers of one engine to which code of the backend passes entities. */
export class CodeSources {
  readonly #names: string[];
  readonly #connections = new Map<string, EntityProviderConnection>();

  /** @param names - of the providers, beside {@link DEFAULT_SOURCE} */
  constructor(names: readonly string[]) {
    this.#names = [...new Set([DEFAULT_SOURCE, SHARES_SOURCE, ...names])];
  }

  /** Connects the providers in the engine that it is added to. */
  readonly feature: BackendFeature = createBackendModule({
    pluginId: 'catalog',
    moduleId: 'tenancy-code-sources',
    register: env => {
      env.registerInit({
        deps: { processing: catalogProcessingExtensionPoint },
        init: async ({ processing }) => {
          this.#names.forEach(name =>
            processing.addEntityProvider({
              getProviderName: () => name,
              connect: async connection => {
                this.#connections.set(name, connection);
              },
            }),
          );
        },
      });
    },
  });

  /** `undefined` for an unknown name. */
  connectionOf(name: string): EntityProviderConnection | undefined {
    return this.#connections.get(name);
  }
}
