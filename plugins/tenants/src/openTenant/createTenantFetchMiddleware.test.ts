import { mockApis } from '@backstage/frontend-test-utils';
import type { JsonObject } from '@backstage/types';
import { createTenantFetchMiddleware } from './createTenantFetchMiddleware';
import type { PageTenant } from './PageTenant';

const REFUSAL = '{"error":"Invalid tenant"}';

describe('the fetch middleware of tenants', () => {
  const next = jest.fn();
  const refuse = jest.fn();

  const middleware = (
    slug: string | undefined,
    discovery: JsonObject[] = [],
  ) => {
    const pageTenant: PageTenant = {
      slug,
      closedPlugins: ['kubernetes', 'user-settings'],
      refuse,
      onRefusal: () => () => {},
      onOther: () => () => {},
    };
    const configApi = mockApis.config({
      data: {
        backend: { baseUrl: 'https://portal.example/base' },
        discovery: { endpoints: discovery },
      },
    });
    return createTenantFetchMiddleware({ configApi, pageTenant }).apply(next);
  };

  /** What the next middleware would send as the tenant. */
  const sent = (): string | null => {
    const [input, init] = next.mock.calls[0];
    return new Request(input, init).headers.get('X-Tenant-Slug');
  };

  const answer = (status: number, text: string) => ({
    status,
    clone: () => ({ text: async () => text }),
  });

  beforeEach(() => {
    jest.resetAllMocks();
    next.mockResolvedValue(answer(200, ''));
  });

  it.each([
    'https://portal.example/base',
    'https://portal.example/base/api/catalog/entities?limit=1',
  ])('names the tenant of the page at %s', async url => {
    await middleware('acme')(url, { headers: { Accept: 'text/plain' } });
    expect(sent()).toBe('acme');
    expect(next.mock.calls[0][0].headers.get('accept')).toBe('text/plain');
  });

  it.each([
    'https://portal.example/',
    'https://portal.example/basement',
    'https://portal.example.evil.example/base/api',
    'https://evil.example/?u=https://portal.example/base/',
    'http://portal.example/base/api',
    'http://localhost/api/catalog',
  ])('does not name it at %s', async url => {
    await middleware('acme')(url);
    expect(next.mock.calls).toEqual([[url, undefined]]);
  });

  it('names it at the endpoints that discovery has beside the backend', async () => {
    const fetchIt = middleware('acme', [
      { target: 'https://search.example/api/search', plugins: ['search'] },
      {
        target: {
          internal: 'http://inside/{{pluginId}}',
          external: 'https://{{ pluginId }}.example/api/{{pluginId}}',
        },
        plugins: ['*'],
      },
      { target: { internal: 'http://inside' }, plugins: ['auth'] },
    ]);
    const namedAt: Record<string, boolean> = {};
    for (const url of [
      'https://search.example/api/search/query',
      'https://docs.example/api/docs/x',
      'https://docs.example/api/other/x',
      'http://inside/docs',
    ]) {
      next.mockClear();
      await fetchIt(url);
      namedAt[url] = sent() === 'acme';
    }
    expect(namedAt).toEqual({
      'https://search.example/api/search/query': true,
      'https://docs.example/api/docs/x': true,
      'https://docs.example/api/other/x': false,
      'http://inside/docs': false,
    });
  });

  it('leaves the tenant that the caller names', async () => {
    await middleware('acme')('https://portal.example/base/api', {
      headers: { 'x-tenant-slug': 'default' },
    });
    expect(sent()).toBe('default');
  });

  it('names none where the page has none, as at the hostname of a tenant', async () => {
    await middleware(undefined)('https://portal.example/base/api');
    expect(sent()).toBeNull();
  });

  it.each(['acme', undefined])(
    'does not ask for a plugin that the tenant of the page does not have (%s)',
    async slug => {
      const fetchIt = middleware(slug);
      const query = 'https://portal.example/base/api/kubernetes/clusters';
      const response = await fetchIt(query);
      expect(response.status).toBe(403);
      await expect(response.json()).resolves.toMatchObject({
        error: {
          message: "The plugin 'kubernetes' is not available to this tenant",
        },
      });
      expect(next).not.toHaveBeenCalled();

      await fetchIt(query, { headers: { 'X-Tenant-Slug': 'default' } });
      await fetchIt('https://portal.example/base/api/kubernetes-more/x');
      await fetchIt('https://elsewhere.example/base/api/kubernetes/clusters');
      expect(next).toHaveBeenCalledTimes(3);
    },
  );

  it('keeps settings in the browser, of each tenant its own, where the tenant has no plugin for them', async () => {
    const settings = (slug: string, path: string, init?: RequestInit) =>
      middleware(slug)(
        `https://portal.example/base/api/user-settings/${path}`,
        init,
      );
    const star = 'buckets/default.stars/keys/refs';
    expect((await settings('acme', star)).status).toBe(404);
    const value = ['component:default/app'];
    const set = { method: 'PUT', body: JSON.stringify({ value }) };
    const kept = { bucket: 'default.stars', key: 'refs', value };
    expect(await (await settings('acme', star, set)).json()).toEqual(kept);
    const many = {
      method: 'POST',
      body: JSON.stringify({
        items: [kept, { bucket: 'default.stars', key: 'other' }],
      }),
    };
    expect(await (await settings('acme', 'multiget', many)).json()).toEqual({
      items: [kept, null],
    });
    expect(await (await settings('initech', 'multiget', many)).json()).toEqual({
      items: [null, null],
    });
    await settings('acme', star, { method: 'DELETE' });
    expect((await settings('acme', star)).status).toBe(404);
    expect(next).not.toHaveBeenCalled();
  });

  it.each([
    [403, REFUSAL, 1],
    [403, `${REFUSAL} `, 0],
    [403, '{"error":{"name":"NotAllowedError"}}', 0],
    [503, REFUSAL, 0],
    [401, REFUSAL, 0],
    [200, REFUSAL, 0],
  ])(
    'takes %d %s for %d refusals of the tenant',
    async (status, text, times) => {
      next.mockResolvedValue(answer(status, text));
      await middleware('acme')('https://portal.example/base/api');
      expect(refuse).toHaveBeenCalledTimes(times);
    },
  );

  it('takes no failure of the network for a refusal', async () => {
    next.mockRejectedValue(new TypeError('Failed to fetch'));
    await expect(
      middleware('acme')('https://portal.example/base/api'),
    ).rejects.toThrow('Failed to fetch');
    expect(refuse).not.toHaveBeenCalled();
  });

  it('does not count the refusal of a tenant that the caller names, or of another host', async () => {
    next.mockResolvedValue(answer(403, REFUSAL));
    await middleware('acme')('https://portal.example/base/api', {
      headers: { 'X-Tenant-Slug': 'other' },
    });
    await middleware('acme')('https://other.example/api');
    expect(refuse).not.toHaveBeenCalled();
  });
});
