import {
  type BackendFeature,
  createBackendModule,
  type ServiceRef,
} from '@backstage/backend-plugin-api';

type Services<TRefs> = {
  [TName in keyof TRefs]: TRefs[TName] extends ServiceRef<infer TService>
    ? TService
    : never;
};

/**
 * Takes services out of a backend with a catalog, as its modules get them.
 *
 * @returns what the backend is started with, and the services, once it has started
 */
export function takeServices<
  TRefs extends Record<string, ServiceRef<unknown, 'root' | 'plugin'>>,
>(deps: TRefs): { feature: BackendFeature; services: Services<TRefs> } {
  const services = {} as Services<TRefs>;
  const feature = createBackendModule({
    pluginId: 'catalog',
    moduleId: 'services-of-the-test',
    register: env =>
      env.registerInit({
        deps,
        init: async found => void Object.assign(services, found),
      }),
  });
  return { feature, services };
}
