import { createTenantDiscovery } from './createTenantDiscovery';

const discovery = {
  getBaseUrl: async (id: string) => `http://localhost:7007/api/${id}`,
};

describe('the addresses of plugins', () => {
  it('name the tenant of the page where it can set no header', async () => {
    const ofAcme = createTenantDiscovery(discovery, { slug: 'acme' });
    expect(await ofAcme.getBaseUrl('signals')).toBe(
      'http://localhost:7007/api/signals?tenant=acme',
    );
    expect(await ofAcme.getBaseUrl('techdocs')).toBe(
      'http://localhost:7007/api/techdocs/.tenant/acme',
    );
    expect(await ofAcme.getBaseUrl('catalog')).toBe(
      'http://localhost:7007/api/catalog',
    );
  });

  it('name none at the hostname of a tenant', async () => {
    const ofHostname = createTenantDiscovery(discovery, { slug: undefined });
    expect(await ofHostname.getBaseUrl('signals')).toBe(
      'http://localhost:7007/api/signals',
    );
  });
});
