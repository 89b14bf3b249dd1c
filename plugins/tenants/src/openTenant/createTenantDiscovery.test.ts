import { createTenantDiscovery } from './createTenantDiscovery';

const discovery = {
  getBaseUrl: async (id: string) => `http://localhost:7007/api/${id}`,
};

const pageOf = (slug?: string) => ({ slug, closedPlugins: [] as string[] });

describe('the addresses of plugins', () => {
  it('name the tenant of the page where it can set no header', async () => {
    const ofAcme = createTenantDiscovery(discovery, pageOf('acme'));
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
    const ofHostname = createTenantDiscovery(discovery, pageOf());
    expect(await ofHostname.getBaseUrl('signals')).toBe(
      'http://localhost:7007/api/signals',
    );
  });

  it('have none for signals that the open tenant does not have', async () => {
    const page = pageOf('acme');
    const ofAcme = createTenantDiscovery(discovery, page);
    // The tenant is known later than the page.
    page.closedPlugins = ['signals'];
    const address = Promise.race([
      ofAcme.getBaseUrl('signals'),
      ofAcme.getBaseUrl('catalog'),
    ]);
    expect(await address).toBe('http://localhost:7007/api/catalog');
  });
});
