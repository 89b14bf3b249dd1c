import { Call, mixUpsOf } from './Traffic';

const call = (
  url: string,
  body: string,
  options: Partial<Call> = {},
): string[] =>
  mixUpsOf({
    method: 'GET',
    url: new URL(url),
    headers: {},
    status: 200,
    body,
    ...options,
  });

describe('the check of what pages ask for', () => {
  const FACETS = 'http://localhost:7007/api/catalog/entity-facets';
  const AT_ACME = 'http://acme.localhost:7007/api/catalog/entity-facets';

  it.each([
    ['by its header', FACETS, { headers: { 'x-tenant-slug': 'acme' } }],
    ['by its host', AT_ACME, {}],
    // The host counts.
    ['by both', AT_ACME, { headers: { 'x-tenant-slug': 'initech' } }],
  ])('lets a tenant have its own, named %s', (_, url, options) => {
    const expected = ['acme'];
    expect(call(url, '"python"', { ...options, expected })).toEqual([]);
  });

  it.each([
    ['an entity', '{"name":"shop-frontend"}', 'default'],
    ['a facet', '{"value":"react"}', 'default'],
    ['a result of a search', '{"title":"TPS reports"}', 'initech'],
  ])('notices %s of another tenant', (_, body, tenant) => {
    expect(call(AT_ACME, body)).toEqual([
      expect.stringMatching(new RegExp(`for acme has .* of ${tenant}$`)),
    ]);
  });

  it('notices a request that names no tenant, or another one', () => {
    const expected = ['acme'];
    expect(call(FACETS, '{}', { expected })).toEqual([
      `GET ${FACETS} went to default, not to acme`,
    ]);
    const headers = { 'x-tenant-slug': 'initech' };
    expect(call(FACETS, '{}', { expected, headers })).toEqual([
      `GET ${FACETS} went to initech, not to acme`,
    ]);
  });

  it('notices what a plugin without tenants tells', () => {
    const url = 'http://localhost:7007/api/tenants/mine';
    expect(call(url, '"tps-reports"')).toHaveLength(1);
    expect(call(url, '[{"tenant_slug":"initech"}]')).toEqual([]);
  });
});
