import type { Request } from 'express';
import {
  DEFAULT_TENANT,
  requestTenant,
  setRequestTenant,
} from './requestTenant';

const TENANT = {
  tenantId: '00000000-0000-4000-8000-00000000000a',
  tenantSlug: 'acme',
};

describe('requestTenant', () => {
  it('throws for a request that was not resolved to a tenant', () => {
    const resolved = {} as Request;
    setRequestTenant(resolved, TENANT);
    expect(() => requestTenant({} as Request)).toThrow(
      'expected the tenant middleware before this handler',
    );
    expect(requestTenant(resolved)).toEqual(TENANT);
  });

  it('is not to be changed, neither on the request nor by way of it', () => {
    const tenant = { ...TENANT };
    const req = {} as Request;
    setRequestTenant(req, tenant);
    tenant.tenantId = DEFAULT_TENANT.tenantId;
    Object.assign(req, { tenant: DEFAULT_TENANT, tenantId: 'x' });
    expect(() => {
      requestTenant(req).tenantId = DEFAULT_TENANT.tenantId;
    }).toThrow(TypeError);
    expect(requestTenant(req)).toEqual(TENANT);
  });
});
