import {
  type BackendFeature,
  coreServices,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import { tenantGateServiceRef } from 'backstage-plugin-catalog-tenancy-node';
import express, { Router } from 'express';

/**
 * A plugin that says what its caller may do and owns, by the services that Backstage gives it:
 * `POST /may` with questions for the permission service, `POST /cookie/may` where a cookie is enough,
 * `GET /who`.
 */
export function askingPlugin(
  pluginId: string,
  options: { tenantAware?: boolean } = {},
): BackendFeature {
  return createBackendPlugin({
    pluginId,
    register(env) {
      env.registerInit({
        deps: {
          gate: tenantGateServiceRef,
          httpAuth: coreServices.httpAuth,
          httpRouter: coreServices.httpRouter,
          permissions: coreServices.permissions,
          userInfo: coreServices.userInfo,
        },
        async init({ gate, httpAuth, httpRouter, permissions, userInfo }) {
          if (options.tenantAware) {
            gate.declareTenantAware();
          }
          const router = Router();
          router.use(express.json());
          httpRouter.addAuthPolicy({ path: '/cookie', allow: 'user-cookie' });
          router.post(['/may', '/cookie/may'], (req, res, next) => {
            const ask = async () => {
              const credentials = await httpAuth.credentials(req, {
                allowLimitedAccess: req.path === '/cookie/may',
              });
              return await permissions.authorize(req.body, { credentials });
            };
            ask().then(
              answers => res.json(answers.map(({ result }) => result)),
              next,
            );
          });
          router.get('/who', (req, res, next) => {
            httpAuth
              .credentials(req, { allow: ['user'] })
              .then(credentials => userInfo.getUserInfo(credentials))
              .then(info => res.json(info.ownershipEntityRefs), next);
          });
          httpRouter.use(router);
        },
      });
    },
  });
}
