import {
  type AuditorService,
  type BackstageUserPrincipal,
  coreServices,
  createServiceFactory,
  type HttpAuthService,
  type PermissionsRegistryService,
  type PermissionsService,
  type RootLoggerService,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  type MetricsService,
  metricsServiceRef,
} from '@backstage/backend-plugin-api/alpha';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import type { Express } from 'express';
import createKnex from 'knex';
import { POOL_SIZE, USER } from '../constants';
import type { ServerSettings } from './settings';

const principal: BackstageUserPrincipal = { type: 'user', userEntityRef: USER };

/** Takes everybody for the same user. */
const httpAuth = {
  credentials: async () => ({
    $$type: '@backstage/BackstageCredentials',
    principal,
  }),
} as Partial<HttpAuthService> as HttpAuthService;

/** Allows everything. */
const permissions: PermissionsService = {
  authorize: async requests =>
    requests.map(() => ({ result: AuthorizeResult.ALLOW })),
  authorizeConditional: async requests =>
    requests.map(() => ({ result: AuthorizeResult.ALLOW })),
};

/** Knows no rules: where everything is allowed, nobody asks for any. */
const permissionsRegistry = {
  addResourceType: () => {},
  getPermissionRuleset: () => ({
    getRuleByName(name: string): never {
      throw new Error(`There is no rule '${name}'`);
    },
  }),
} as Partial<PermissionsRegistryService> as PermissionsRegistryService;

/** Writes nothing down. */
const auditor: AuditorService = {
  createEvent: async () => ({
    success: async () => {},
    fail: async () => {},
  }),
};

/** Counts nothing, as Backstage's does while nobody collects metrics. */
const metrics = {
  createCounter: () => ({ add() {} }),
  createHistogram: () => ({ record() {} }),
} as Partial<MetricsService> as MetricsService;

const logger: RootLoggerService = {
  error: () => {},
  warn: () => {},
  info: () => {},
  debug: () => {},
  child: () => logger,
};

/** What the plugin needs of Backstage, reduced to what costs nothing. */
export function createTrivialServices(
  app: Express,
  { connection }: ServerSettings,
): ServiceFactory[] {
  const knex = createKnex({
    client: 'pg',
    connection,
    pool: { min: 0, max: POOL_SIZE },
  });
  return [
    createServiceFactory({
      service: coreServices.auditor,
      deps: {},
      factory: () => auditor,
    }),
    createServiceFactory({
      service: coreServices.database,
      deps: {},
      factory: () => ({ getClient: async () => knex }),
    }),
    createServiceFactory({
      service: coreServices.httpAuth,
      deps: {},
      factory: () => httpAuth,
    }),
    createServiceFactory({
      service: coreServices.httpRouter,
      deps: {},
      factory: () => ({
        use: handler => app.use(handler),
        addAuthPolicy: () => {},
      }),
    }),
    createServiceFactory({
      service: coreServices.logger,
      deps: {},
      factory: () => logger,
    }),
    createServiceFactory({
      service: metricsServiceRef,
      deps: {},
      factory: () => metrics,
    }),
    createServiceFactory({
      service: coreServices.permissions,
      deps: {},
      factory: () => permissions,
    }),
    createServiceFactory({
      service: coreServices.permissionsRegistry,
      deps: {},
      factory: () => permissionsRegistry,
    }),
    createServiceFactory({
      service: coreServices.rootLogger,
      deps: {},
      factory: () => logger,
    }),
  ];
}
