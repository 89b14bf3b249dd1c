import type { Entity } from '@backstage/catalog-model';
import allowAll from '@backstage/plugin-permission-backend-module-allow-all-policy';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { DEFAULT_TENANT_ID } from 'backstage-plugin-catalog-tenancy-node';
import jwt from 'jsonwebtoken';
import { Client } from 'pg';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import { signedInGuest } from '@internal/catalog-testing/signedInGuest';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { sendTo } from '../resolution/__testUtils__/send';

const databases = createTestDatabases({ versions: 'newest' });

const JANE = 'user:default/jane';
const HOST = 'acme.portal.example';

const janeIn = (group: string): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'User',
  metadata: { name: 'jane', namespace: 'default' },
  spec: { memberOf: [group] },
  relations: [{ type: 'memberOf', targetRef: `group:default/${group}` }],
});

describe.each(databases.eachSupportedId())(
  'signing in at the hostname of a tenant, on %s',
  id => {
    let backend: CatalogBackend;

    const get = (path: string, headers: Record<string, string>) =>
      sendTo(backend.server.port(), path, headers, 'GET');

    beforeAll(async () => {
      const connection = await createTenancyDatabase(databases, id);
      await insertEntities(connection, DEFAULT_TENANT_ID, [janeIn('crew')]);
      const guest = signedInGuest(JANE);
      backend = await startCatalogBackend({
        connection,
        enabled: true,
        features: [...guest.features, allowAll],
        config: { ...guest.config, tenancy: { membership: 'required' } },
      });
      for (const [tenant_slug, member] of [
        ['acme', 'group:default/crew'],
        ['globex', 'group:default/intruders'],
      ]) {
        const { tenant_id } = await backend.tenants.create({
          tenant_slug,
          tenant_name: tenant_slug,
        });
        await addMember(connection, tenant_id, member);
        await backend.write(tenant_id, {
          type: 'full',
          entities: [janeIn('intruders')],
        });
      }
    });

    it('finds the user and the groups in the catalog of the default tenant', async () => {
      const signIn = await get('/api/auth/guest/refresh', { host: HOST });
      expect(signIn.status).toBe(200);
      const { token } = JSON.parse(signIn.text).backstageIdentity;
      expect(jwt.decode(token)).toMatchObject({ sub: JANE });

      const authorization = `Bearer ${token}`;
      const info = await get('/api/auth/v1/userinfo', {
        host: HOST,
        authorization,
      });
      expect(JSON.parse(info.text).claims.ent).toEqual(
        expect.arrayContaining([JANE, 'group:default/crew']),
      );
      expect(info.text).not.toContain('intruders');

      const entities = (slug: string) =>
        get('/api/catalog/entities', {
          host: `${slug}.portal.example`,
          authorization,
        });
      const [acme, globex] = [await entities('acme'), await entities('globex')];
      expect([acme.status, globex.status]).toEqual([200, 403]);
      expect(globex.text).toBe('{"error":"Invalid tenant"}');
    });
  },
);

async function addMember(
  connection: ConstructorParameters<typeof Client>[0],
  tenantId: string,
  principal: string,
): Promise<void> {
  const client = new Client(connection);
  await client.connect();
  try {
    await client.query(
      `insert into tenancy.tenant_members (tenant_id, principal, role, created_by)
       values ($1, $2, 'member', 'a test')`,
      [tenantId, principal],
    );
  } finally {
    await client.end();
  }
}
