import { createSpecializedBackend } from '@backstage/backend-app-api';
import { lifecycleServiceFactory } from '@backstage/backend-defaults/lifecycle';
import { rootLifecycleServiceFactory } from '@backstage/backend-defaults/rootLifecycle';
import {
  type AuditorService,
  type BackstageUserPrincipal,
  coreServices,
  createServiceFactory,
  type HttpAuthService,
  type PermissionsRegistryService,
  type PermissionsService,
  type RootLoggerService,
  type SchedulerService,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  type MetricsService,
  metricsServiceRef,
} from '@backstage/backend-plugin-api/alpha';
import { ConfigReader } from '@backstage/config';
import {
  AuthorizeResult,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import { mockupReadPermission } from 'backstage-plugin-mockup-common';
import {
  createMockupConditionalDecision,
  mockupConditions,
  mockupPermissionRules,
} from 'backstage-plugin-mockup-node';
import express, { type Express } from 'express';
import createKnex from 'knex';
import {
  type DatabaseConnection,
  listen,
  POOL_SIZE,
  serve,
  USER,
} from '../harness/servers';

// Ours without Backstage around it: the plugin in a bare express app, on
// services that cost nothing, which compares like with like.

interface Settings {
  connection: DatabaseConnection;
  /** Has the caller see what is theirs or shared with these groups; otherwise everything. */
  sharedWith?: string[];
}

serve<Settings>(async settings => {
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

const principal: BackstageUserPrincipal = { type: 'user', userEntityRef: USER };

/** Takes everybody for the same user. */
const httpAuth = {
  credentials: async () => ({
    $$type: '@backstage/BackstageCredentials',
    principal,
  }),
} as Partial<HttpAuthService> as HttpAuthService;

/** Allows everything, or what {@link Settings} say. */
function decideBy({ sharedWith }: Settings): PermissionsService {
  const claims = [USER, ...(sharedWith ?? [])];
  const decision: PolicyDecision = sharedWith
    ? createMockupConditionalDecision(mockupReadPermission, {
        anyOf: [
          mockupConditions.isOwner({ claims }),
          mockupConditions.isSharedWith({ claims }),
        ],
      })
    : { result: AuthorizeResult.ALLOW };
  return {
    authorize: async requests =>
      requests.map(() => ({ result: AuthorizeResult.ALLOW })),
    authorizeConditional: async requests => requests.map(() => decision),
  };
}

/** Knows the rules of the plugin. */
const permissionsRegistry = {
  addResourceType: () => {},
  getPermissionRuleset: () => ({
    getRuleByName: (name: string) =>
      Object.values(mockupPermissionRules).find(rule => rule.name === name)!,
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

/** Runs no task: none of the plugin's is part of a request. */
const scheduler = {
  scheduleTask: async () => {},
} as Partial<SchedulerService> as SchedulerService;

/** What the plugin needs of Backstage, reduced to what costs nothing. */
function createTrivialServices(
  app: Express,
  settings: Settings,
): ServiceFactory[] {
  const knex = createKnex({
    client: 'pg',
    connection: settings.connection,
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
        addWebSocketHandler: () => {},
      }),
    }),
    createServiceFactory({
      service: coreServices.scheduler,
      deps: {},
      factory: () => scheduler,
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
      factory: () => decideBy(settings),
    }),
    createServiceFactory({
      service: coreServices.permissionsRegistry,
      deps: {},
      factory: () => permissionsRegistry,
    }),
    createServiceFactory({
      service: coreServices.rootConfig,
      deps: {},
      factory: () => new ConfigReader({}),
    }),
    createServiceFactory({
      service: coreServices.rootLogger,
      deps: {},
      factory: () => logger,
    }),
  ];
}
