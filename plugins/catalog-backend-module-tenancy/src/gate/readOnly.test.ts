import { mockCredentials } from '@backstage/backend-test-utils';
import {
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  classifiedPlugin,
  startGatedBackend,
} from './__testUtils__/startGatedBackend';

describe('a tenant that is read-only', () => {
  let send: Awaited<ReturnType<typeof startGatedBackend>>;

  beforeAll(async () => {
    send = await startGatedBackend({
      directory: {
        findActive: async tenantSlug => ({
          tenantId:
            tenantSlug === DEFAULT_TENANT_SLUG
              ? DEFAULT_TENANT_ID
              : `id of ${tenantSlug}`,
          tenantSlug,
          isReadOnly: tenantSlug === 'acme',
        }),
        forget: () => {},
      },
      tenancy: { plugins: { shared: ['shared'] } },
      features: [
        classifiedPlugin('catalog', { tenantAware: true }),
        classifiedPlugin('shared'),
      ],
    });
  });

  it.each([
    ['GET', 'catalog/entities', 'acme', 200],
    ['HEAD', 'catalog/entities', 'acme', 200],
    ['POST', 'catalog/entities/by-refs', 'acme', 200],
    ['POST', 'catalog/entities/by-query', 'acme', 200],
    ['POST', 'catalog/Entities/By-Query/', 'acme', 200],
    ['POST', 'catalog/locations/by-query', 'acme', 200],
    ['POST', 'catalog/locations', 'acme', 503],
    ['PUT', 'catalog/entities/by-refs', 'acme', 503],
    ['DELETE', 'catalog/entities/by-uid/1', 'acme', 503],
    ['POST', 'catalog/locations', 'globex', 200],
    ['POST', 'shared/things', 'acme', 200],
  ])('answers %s %s of %s with %i', async (method, path, slug, status) => {
    const answer = await send(
      `/api/${path}`,
      {
        authorization: mockCredentials.user.header(),
        'x-tenant-slug': slug,
      },
      method,
    );
    expect(answer.status).toBe(status);
    expect(answer.headers['retry-after']).toBe(
      status === 503 ? '10' : undefined,
    );
  });
});
