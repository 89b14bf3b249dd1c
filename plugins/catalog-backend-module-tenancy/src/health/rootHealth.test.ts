import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  mockServices,
  ServiceFactoryTester,
} from '@backstage/backend-test-utils';
import {
  TenancyHealth,
  tenancyHealthServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { rootHealthServiceFactory } from './rootHealth';

describe('the health of the process', () => {
  async function create() {
    const tenancy = new TenancyHealth();
    const lifecycle = mockServices.rootLifecycle.mock();
    const health = await ServiceFactoryTester.from(rootHealthServiceFactory, {
      dependencies: [
        createServiceFactory({
          service: tenancyHealthServiceRef,
          deps: {},
          factory: () => tenancy,
        }),
        createServiceFactory({
          service: coreServices.rootLifecycle,
          deps: {},
          factory: () => lifecycle,
        }),
      ],
    }).getSubject();
    const run = ({ mock }: { mock: { calls: unknown[][] } }) =>
      mock.calls.forEach(([hook]) => (hook as () => void)());
    return {
      health,
      tenancy,
      start: () => run(lifecycle.addStartupHook),
      stop: () => run(lifecycle.addBeforeShutdownHook),
    };
  }

  it('is that of its start and its stop', async () => {
    const { health, start, stop } = await create();
    const reason = async () => {
      const { status, payload } = await health.getReadiness();
      return [status, (payload as { reason?: string }).reason];
    };
    await expect(reason()).resolves.toEqual([503, 'starting']);
    start();
    await expect(reason()).resolves.toEqual([200, undefined]);
    stop();
    await expect(reason()).resolves.toEqual([503, 'stopping']);
    await expect(health.getLiveness()).resolves.toMatchObject({ status: 200 });
  });

  it('says why a process lives on that could not start', async () => {
    const { health, tenancy } = await create();
    tenancy.startFailed(new Error('any'));
    await expect(health.getReadiness()).resolves.toMatchObject({
      status: 503,
      payload: { status: 'error', reason: 'refused' },
    });
  });

  it('passes on what tenancy tells', async () => {
    const { health, tenancy, start } = await create();
    start();
    tenancy.addDetail('engines', () => ({ failed: 1 }));
    await expect(health.getReadiness()).resolves.toEqual({
      status: 200,
      payload: { status: 'ok', engines: { failed: 1 } },
    });
  });
});
