import { TenantConnector, tenantOfHost } from './TenantConnector';

const ANSWER = {
  profile: { displayName: 'Jane' },
  backstageIdentity: {
    token: 'token',
    identity: {
      type: 'user',
      userEntityRef: 'user:acme/jane',
      ownershipEntityRefs: ['user:acme/jane'],
    },
    expiresInSeconds: 3600,
  },
};

const connector = new TenantConnector({
  discoveryApi: { getBaseUrl: async id => `https://portal.example/api/${id}` },
  tenant: 'acme',
  environment: 'production',
});

describe('sessions of a tenant', () => {
  const sent = jest.fn();
  const fetchBefore = global.fetch;
  beforeEach(() => {
    global.fetch = sent.mockReset();
  });
  afterEach(() => {
    global.fetch = fetchBefore;
  });

  it('go on at the host of the portal, by the tenant', async () => {
    sent.mockResolvedValue({ ok: true, json: async () => ANSWER });
    const { backstageIdentity, providerInfo } =
      await connector.refreshSession();
    expect(backstageIdentity?.identity.userEntityRef).toBe('user:acme/jane');
    expect(providerInfo.accessToken).toBe('');
    expect(sent).toHaveBeenCalledWith(
      'https://portal.example/api/auth/tenant/refresh?tenant=acme&env=production&optional=',
      expect.objectContaining({ credentials: 'include' }),
    );
  });

  it('open no window without a click', async () => {
    const opened = jest.spyOn(window, 'open');
    sent.mockResolvedValue({ ok: true, json: async () => ANSWER });
    await connector.createSession({});
    expect(opened).not.toHaveBeenCalled();
  });

  it('begin in a window, which is told where the page is', async () => {
    const opened = jest.spyOn(window, 'open').mockReturnValue(null);
    await connector.createSession({ instantPopup: true }).catch(() => {});
    const { pathname, searchParams } = new URL(String(opened.mock.calls[0][0]));
    expect(pathname).toBe('/api/auth/tenant/start');
    expect(Object.fromEntries(searchParams)).toEqual({
      tenant: 'acme',
      env: 'production',
      origin: window.location.origin,
    });
  });
});

it.each([
  ['acme.portal.example', 'acme'],
  ['acme.localhost', 'acme'],
  ['portal.example', undefined],
  ['www.portal.example', undefined],
  ['a.b.portal.example', undefined],
  ['acmeportal.example', undefined],
  ['portal.example.evil.example', undefined],
])('at %s the tenant of the page is %s', (hostname, tenant) => {
  const baseDomains = ['localhost', 'Portal.example'];
  expect(tenantOfHost(baseDomains, { hostname })).toBe(tenant);
});
