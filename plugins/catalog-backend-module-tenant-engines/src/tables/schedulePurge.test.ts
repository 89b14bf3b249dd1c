import { mockServices } from '@backstage/backend-test-utils';
import type { Tenant } from 'backstage-plugin-catalog-tenancy-node';
import { schedulePurge } from './schedulePurge';

const DAY_MS = 86_400_000;

describe('the purge of the tables of engines', () => {
  const logger = mockServices.logger.mock();

  const tenant = (
    tenant_id: string,
    daysSinceDeletion: number | null,
    entity_ttl_days: number | null,
  ) =>
    ({
      tenant_id,
      tenant_slug: tenant_id,
      entity_ttl_days,
      deleted_at:
        daysSinceDeletion === null
          ? null
          : new Date(Date.now() - daysSinceDeletion * DAY_MS).toISOString(),
    } as Tenant);

  const purge = async (
    tenants: Tenant[],
    withTables: string[],
    onDrop?: (tenantId: string) => void,
  ) => {
    const scheduler = mockServices.scheduler.mock();
    const dropped: string[] = [];
    await schedulePurge({
      logger,
      scheduler,
      tables: {
        drop: async (tenantId, check) => {
          onDrop?.(tenantId);
          await check();
          dropped.push(tenantId);
        },
        list: async () => withTables.map(tenantId => ({ tenantId })),
      },
      tenants: {
        list: async ({ limit = 0, offset = 0 } = {}) => ({
          items: tenants.slice(offset, offset + limit),
          totalItems: tenants.length,
        }),
        get: async slug => tenants.find(each => each.tenant_slug === slug),
      },
    });
    const [[task]] = scheduler.scheduleTask.mock.calls;
    await task.fn(new AbortController().signal);
    return dropped;
  };

  it('removes those of tenants that were deleted longer ago than their entity_ttl_days', async () => {
    const tenants = [
      tenant('active', null, 1),
      tenant('deleted-lately', 1, 2),
      tenant('deleted-long-ago', 3, 2),
      tenant('kept-for-ever', 3000, null),
      tenant('without-tables', 3, 2),
    ];
    const ids = tenants
      .map(({ tenant_id }) => tenant_id)
      .filter(id => id !== 'without-tables');
    expect(await purge(tenants, ids)).toEqual(['deleted-long-ago']);
  });

  it('leaves those of a tenant that is restored while it is at others', async () => {
    const tenants = [tenant('t0', 3, 2), tenant('t1', 3, 2)];
    const restore = () => {
      tenants[1] = tenant('t1', null, 2);
    };
    expect(await purge(tenants, ['t0', 't1'], restore)).toEqual(['t0']);
  });

  it('leaves those of a tenant that is restored while their locks are waited for', async () => {
    const tenants = [tenant('t0', 3, 2), tenant('t1', 3, 2)];
    const restore = () => {
      tenants[0] = tenant('t0', null, 2);
    };
    expect(await purge(tenants, ['t0', 't1'], restore)).toEqual(['t1']);
    expect(logger.warn).not.toHaveBeenCalled();
  });

  it('goes on with those of others where some can not be removed', async () => {
    const tenants = [tenant('t0', 3, 2), tenant('t1', 3, 2)];
    const fail = (tenantId: string) => {
      if (tenantId === 't0') {
        throw new Error('Others hold the tables');
      }
    };
    expect(await purge(tenants, ['t0', 't1'], fail)).toEqual(['t1']);
    expect(logger.warn).toHaveBeenCalledWith(
      expect.stringMatching(/^The tables of the engine of the tenant 't0'/),
    );
  });

  it('leaves tables alone whose tenant the registry does not have', async () => {
    expect(await purge([], ['unknown'])).toEqual([]);
  });

  it('looks at all tenants, however many there are', async () => {
    const tenants = Array.from({ length: 501 }, (_, index) =>
      tenant(`t${index}`, 3, 2),
    );
    expect(await purge(tenants, ['t0', 't500'])).toEqual(['t0', 't500']);
  });
});
