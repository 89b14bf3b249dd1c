import type { Entity } from '@backstage/catalog-model';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { DEFAULT_TENANT_ID } from 'backstage-plugin-catalog-tenancy-node';
import { component } from '@internal/catalog-testing/entities';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';

const databases = createTestDatabases({ versions: 'newest' });

const ONLY_ACME = 'component:default/only-acme';
const NEVER_USED_UID = '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11';

describe.each(databases.eachSupportedId())('isolation on %s', id => {
  let backend: CatalogBackend;

  const titled = (title: string): Entity =>
    component('shared', {
      metadata: { name: 'shared', title, annotations: { [title]: 'x' } },
    });

  beforeAll(async () => {
    const connection = await createTenancyDatabase(databases, id);
    backend = await startCatalogBackend({ connection, enabled: true });
    await insertEntities(connection, DEFAULT_TENANT_ID, [titled('of default')]);
    await backend.createTenant('acme', [
      titled('of acme'),
      component('only-acme'),
    ]);
    await backend.createTenant('globex', [titled('of globex')]);
    await backend.createTenant('newcomer');
  });

  const uidOf = async (slug: string): Promise<string> => {
    const { body } = await backend
      .as(slug)
      .get('/entities/by-name/component/default/shared');
    expect(body.metadata.title).toBe(`of ${slug}`);
    return body.metadata.uid;
  };

  it('answers a uid of another tenant as one that was never used', async () => {
    const theirs = await uidOf('acme');
    for (const slug of ['default', 'globex', 'newcomer']) {
      const guess = await backend.as(slug).get(`/entities/by-uid/${theirs}`);
      const missing = await backend
        .as(slug)
        .get(`/entities/by-uid/${NEVER_USED_UID}`);
      expect(guess.status).toBe(404);
      expect(guess.text).toBe(missing.text.replaceAll(NEVER_USED_UID, theirs));
      expect(comparable(guess.headers)).toEqual(comparable(missing.headers));
    }
  });

  it('answers a ref of another tenant as one that was never used', async () => {
    for (const slug of ['default', 'globex', 'newcomer']) {
      const caller = backend.as(slug);
      const path = '/entities/by-name/component/default';
      for (const end of ['', '/ancestry']) {
        const guess = await caller.get(`${path}/only-acme${end}`);
        const missing = await caller.get(`${path}/no-wayne${end}`);
        expect(guess.status).toBe(404);
        expect(guess.text).toBe(
          missing.text.replaceAll('no-wayne', 'only-acme'),
        );
        expect(comparable(guess.headers)).toEqual(comparable(missing.headers));
      }
      const refs = await caller.post('/entities/by-refs', {
        entityRefs: [ONLY_ACME, 'component:default/no-wayne'],
      });
      expect(refs.body).toEqual({ items: [null, null] });

      const filtered = await caller.get(
        `/entities?filter=metadata.name=only-acme`,
      );
      expect(filtered.body).toEqual([]);
      const byUid = await caller.get(
        `/entities?filter=metadata.uid=${await uidOf('acme')}`,
      );
      expect(byUid.body).toEqual([]);
    }
  });

  it('shows the own rows only, by a cursor that was stolen or made up', async () => {
    const stolen = await backend.as('acme').get('/entities/by-query?limit=1');
    const { nextCursor } = stolen.body.pageInfo;
    expect(nextCursor).toBeDefined();
    const own = await uidOf('globex');
    const forged = { orderFields: [], isPrevious: false, orderFieldValues: [] };
    const encode = (value: object) =>
      Buffer.from(JSON.stringify(value)).toString('base64');
    for (const cursor of [
      nextCursor,
      encode(forged),
      encode({ ...forged, tenantId: 'acme', tenant_id: 'acme' }),
      encode({ ...forged, orderFieldValues: [await uidOf('acme')] }),
      encode({ ...forged, isPrevious: true, orderFieldValues: ['g'] }),
      encode({ ...forged, filter: { anyOf: [{ key: 'kind' }] } }),
      encode({ ...forged, query: { $not: { kind: 'x' } } }),
    ]) {
      for (const answer of [
        await backend
          .as('globex')
          .get(`/entities/by-query?cursor=${encodeURIComponent(cursor)}`),
        await backend.as('globex').post('/entities/by-query', { cursor }),
      ]) {
        expect(answer.status).toBe(200);
        for (const entity of answer.body.items) {
          expect(entity.metadata.uid).toBe(own);
        }
      }
      const nobody = await backend
        .as('newcomer')
        .post('/entities/by-query', { cursor });
      expect(nobody.body.items).toEqual([]);
    }
  });
});

/** Without what says when an answer was sent, and how long it is. */
function comparable(headers: Record<string, string>) {
  const { date, etag, 'content-length': length, ...rest } = headers;
  return rest;
}
