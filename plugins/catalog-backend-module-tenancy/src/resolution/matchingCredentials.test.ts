import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { OutgoingHttpHeaders } from 'node:http';
import { outcomeOf, REFUSED } from './__testUtils__/outcomeOf';
import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import { startAuthenticatedBackend } from './__testUtils__/startAuthenticatedBackend';
import type { TenantBackend } from './__testUtils__/startTenantBackend';
import { sign } from './__testUtils__/tokens';

const databases = createTestDatabases({ versions: 'newest' });

describe('a tenant token as credentials, with tenancy.requireMatchingToken', () => {
  const host = 'acme.portal.example';
  const ofAcme = `Bearer ${sign({ tenantSlug: 'acme' })}`;
  const ofGlobex = `Bearer ${sign({ tenantSlug: 'globex' })}`;
  let backend: TenantBackend;

  beforeAll(async () => {
    // No matter on which version.
    const keys = {
      catalog: await databases.init('POSTGRES_18'),
      auth: await databases.init('POSTGRES_18'),
    };
    backend = await startAuthenticatedBackend({
      directory: new InMemoryTenants(),
      logger: mockServices.rootLogger.mock(),
      keys,
      externalAccess: [
        {
          type: 'tenant',
          options: {},
          accessRestrictions: [{ plugin: 'catalog' }],
        },
      ],
      tenancy: { requireMatchingToken: true },
    });
  });

  const outcome = async (headers: OutgoingHttpHeaders) =>
    outcomeOf(await backend.get(headers));

  it('of another tenant than that of the hostname gets 403', async () => {
    for (const authorization of [ofGlobex, ofGlobex.replace(' ', '  ')]) {
      await expect(outcome({ host, authorization })).resolves.toBe(REFUSED);
    }
    await expect(outcome({ host, authorization: ofAcme })).resolves.toBe(
      'acme',
    );
  });

  it.each(['backstage-auth', 'Authorization', 'token'])(
    'neither authenticates nor decides in a cookie %s',
    async name => {
      const token = ofGlobex.replace('Bearer ', '');
      const cookie = `${name}=${token}`;
      await expect(outcome({ host, cookie })).resolves.toMatch(
        /^401 .*AuthenticationError/,
      );
      await expect(
        outcome({ host, cookie, authorization: ofAcme }),
      ).resolves.toBe('acme');
    },
  );
});
