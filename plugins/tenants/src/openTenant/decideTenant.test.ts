import type { OpenTenant } from 'backstage-plugin-tenants-common';
import { failureOf as failure, openTenantOf } from './__testUtils__/openTenant';
import { decideTenant } from './decideTenant';
import { tenantAddress } from './tenantAddress';

const open = (changes: Partial<OpenTenant> = {}) =>
  openTenantOf('default', {
    role: null,
    administers_tenants: false,
    named_by: 'default',
    ...changes,
  });

const own = (...slugs: string[]) => ({
  items: slugs.map(slug => ({
    tenant_slug: slug,
    tenant_name: slug.toUpperCase(),
    role: 'member' as const,
  })),
  totalItems: slugs.length,
});

describe('the tenant of a page', () => {
  const api = { getOpenTenant: jest.fn(), listOwnTenants: jest.fn() };
  const refuse = async () => {
    throw await failure(403, '{"error":"Invalid tenant"}');
  };

  beforeEach(() => jest.resetAllMocks());

  describe('at the first visit', () => {
    it.each([
      ['the only one beside the default one', own('acme', 'default'), 'acme'],
      ['the only one', own('acme'), 'acme'],
      ['the default one, of several', own('acme', 'default', 'initech'), null],
      ['the default one, of none', own('default'), null],
    ])('is %s', async (_name, tenants, slug) => {
      const tenant = open({ own_tenants: tenants });
      api.getOpenTenant.mockResolvedValue(tenant);
      expect(await decideTenant(api, undefined)).toEqual(
        slug ? { kind: 'other', slug } : { kind: 'open', tenant },
      );
      expect(api.listOwnTenants).not.toHaveBeenCalled();
    });

    it('is the default one for who administers tenants', async () => {
      const tenant = open({ administers_tenants: true });
      api.getOpenTenant.mockResolvedValue(tenant);
      expect(await decideTenant(api, undefined)).toEqual({
        kind: 'open',
        tenant,
      });
    });

    it.each<Partial<OpenTenant>>([
      { named_by: 'hostname', tenant_slug: 'acme' },
      { named_by: 'origin', tenant_slug: 'acme' },
      { base_domain: 'portal.example' },
      { enabled: false },
    ])('is what the portal says: %j', async changes => {
      api.getOpenTenant.mockResolvedValue(open(changes));
      expect(await decideTenant(api, undefined)).toEqual({
        kind: 'open',
        tenant: open(changes),
      });
      expect(api.listOwnTenants).not.toHaveBeenCalled();
    });

    it('is the only one where the default one is for its members', async () => {
      api.getOpenTenant.mockImplementation(refuse);
      api.listOwnTenants.mockResolvedValue(own('acme'));
      expect(await decideTenant(api, undefined)).toEqual({
        kind: 'other',
        slug: 'acme',
      });
    });

    it.each([own(), own('acme', 'initech')])(
      'is to be chosen, where the default one is for its members, of %j',
      async tenants => {
        api.getOpenTenant.mockImplementation(refuse);
        api.listOwnTenants.mockResolvedValue(tenants);
        expect(await decideTenant(api, undefined)).toEqual({
          kind: 'refused',
          own: tenants,
        });
      },
    );
  });

  describe('that was chosen before', () => {
    it('is open', async () => {
      const tenant = open({ named_by: 'header', tenant_slug: 'acme' });
      api.getOpenTenant.mockResolvedValue(tenant);
      expect(await decideTenant(api, 'acme')).toEqual({ kind: 'open', tenant });
    });

    it('may have been closed since: the others are asked for as a member of none', async () => {
      api.getOpenTenant.mockImplementation(refuse);
      api.listOwnTenants.mockResolvedValue(own('default'));
      expect(await decideTenant(api, 'acme')).toEqual({
        kind: 'refused',
        own: own('default'),
      });
      expect(api.listOwnTenants.mock.calls).toEqual([
        [{ limit: 100 }, { tenantSlug: 'default' }],
      ]);
    });

    it('has a hostname since', async () => {
      const tenant = open({
        named_by: 'header',
        tenant_slug: 'acme',
        base_domain: 'portal.example',
      });
      api.getOpenTenant.mockResolvedValue(tenant);
      expect(await decideTenant(api, 'acme')).toEqual({
        kind: 'other',
        slug: 'acme',
        tenant,
      });
    });

    it.each<Partial<OpenTenant>>([
      { named_by: 'hostname', tenant_slug: 'initech' },
      { enabled: false },
    ])('is forgotten where it names nothing: %j', async changes => {
      api.getOpenTenant.mockResolvedValue(open(changes));
      expect(await decideTenant(api, 'acme')).toEqual({
        kind: 'other',
        slug: undefined,
      });
    });
  });

  it('is not known where its hostname is refused, and with it the question which others there are', async () => {
    api.getOpenTenant.mockImplementation(refuse);
    api.listOwnTenants.mockImplementation(refuse);
    expect(await decideTenant(api, undefined)).toEqual({
      kind: 'refused',
      own: undefined,
    });
  });

  it('is none where the backend knows no tenants', async () => {
    api.getOpenTenant.mockRejectedValue(await failure(404, ''));
    expect(await decideTenant(api, undefined)).toEqual({
      kind: 'open',
      tenant: undefined,
    });
  });

  it.each([
    [403, '{"error":{"name":"NotAllowedError","message":"no"},"response":{}}'],
    [503, '{"error":"Invalid tenant"}'],
  ])('is not decided by %d %s', async (status, text) => {
    const error = await failure(status, text);
    api.getOpenTenant.mockRejectedValue(error);
    await expect(decideTenant(api, 'acme')).rejects.toBe(error);
  });
});

describe('the address of a tenant', () => {
  const at = (hostname: string, port = '') => ({
    hostname,
    port,
    protocol: 'https:',
  });

  it.each([
    ['acme', 'https://acme.portal.example/'],
    ['default', 'https://portal.example/'],
  ])('is its hostname: %s', (slug, address) => {
    const tenant = open({ base_domain: 'portal.example' });
    expect(tenantAddress(slug, tenant, at('portal.example'), '/')).toBe(
      address,
    );
  });

  it('has the port and the path of the app', () => {
    const tenant = open({ named_by: 'hostname', tenant_slug: 'acme' });
    expect(
      tenantAddress('initech', tenant, at('acme.localhost', '7007'), '/app/'),
    ).toBe('https://initech.localhost:7007/app/');
  });

  it('stays below the base domain of the page, of several', () => {
    const tenant = open({
      named_by: 'hostname',
      tenant_slug: 'acme',
      base_domain: 'portal.example',
    });
    expect(tenantAddress('default', tenant, at('acme.intra.net'), '/')).toBe(
      'https://intra.net/',
    );
  });

  it('is none where the header names tenants', () => {
    const tenant = open({ named_by: 'header', tenant_slug: 'acme' });
    expect(
      tenantAddress('initech', tenant, at('acme.evil.example'), '/'),
    ).toBeUndefined();
  });
});
