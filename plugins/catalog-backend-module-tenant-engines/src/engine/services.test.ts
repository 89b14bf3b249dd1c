import {
  coreServices,
  type LoggerService,
  type ServiceRef,
} from '@backstage/backend-plugin-api';
import {
  mockServices,
  ServiceFactoryTester,
} from '@backstage/backend-test-utils';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import { metricsServiceMock } from '@backstage/backend-test-utils/alpha';
import type { Knex } from 'knex';
import { BackgroundWork } from '../work/BackgroundWork';
import { createServices } from './services';
import { quiet } from './TenantEngine';

interface Later {
  /** Whether it is called on the service itself, which may have private fields. */
  isCalledOnService(): boolean;
}

/** As a later version of Backstage may have a service: with a method that is not known here. */
function later<TService extends object>(service: TService): TService & Later {
  return Object.assign(service, {
    isCalledOnService(this: unknown) {
      return this === service;
    },
  });
}

const tenant = {
  tenantId: '5c1f0b6e-65a7-4f4f-8d55-1f3b1f7c4b11',
  tenantSlug: 'acme',
};

const factories = createServices({
  tenant,
  config: mockServices.rootConfig(),
  knex: {} as Knex,
  logger: mockServices.rootLogger(),
  migrates: true,
  mount: () => undefined,
  mountUpgrade: () => undefined,
  signal: new AbortController().signal,
  work: new BackgroundWork({ tenantSlug: 'acme', holdsLease: () => true }),
  outer: {
    auditor: later(mockServices.auditor.mock()),
    auth: later(mockServices.auth()),
    cache: later(mockServices.cache.mock()),
    discovery: mockServices.discovery(),
    httpAuth: mockServices.httpAuth(),
    logger: mockServices.logger.mock(),
    metrics: later(metricsServiceMock.mock()),
    permissions: mockServices.permissions(),
    scheduler: later(mockServices.scheduler.mock()),
    userInfo: mockServices.userInfo(),
  },
});

const serviceOf = async (ref: ServiceRef<object, 'plugin'>) => {
  const factory = factories.find(({ service }) => service.id === ref.id)!;
  const service = await ServiceFactoryTester.from(factory).getSubject();
  return service as Partial<Later>;
};

describe('a method of Backstage that is not known', () => {
  it.each([coreServices.auditor, metricsServiceRef])(
    'is there for the engine of a tenant, of $id',
    async ref => {
      expect((await serviceOf(ref)).isCalledOnService?.()).toBe(true);
    },
  );

  it.each([coreServices.auth, coreServices.cache, coreServices.scheduler])(
    'is refused by its name, where it could reach other tenants, of $id',
    async ref => {
      const service = await serviceOf(ref);
      expect(() => service.isCalledOnService?.()).toThrow(
        'engines and instances of tenants do not have isCalledOnService of Backstage',
      );
    },
  );

  it('is there for the logger of an engine', () => {
    const logger = quiet(later<LoggerService>(mockServices.logger.mock()));
    expect((logger as Partial<Later>).isCalledOnService?.()).toBe(true);
  });
});
