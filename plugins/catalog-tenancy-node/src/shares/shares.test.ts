import { ConflictError } from '@backstage/errors';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { Registry } from '../tenants/__testUtils__/registry';
import { TenantShareStore } from './TenantShareStore';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('shares of tenants on %s', id => {
  let registry: Registry;
  let store: TenantShareStore;

  beforeAll(async () => {
    registry = await Registry.create(databases, id);
    const { admin, database } = registry;
    store = new TenantShareStore({ admin, pool: database.pool });
    await registry.createTenant('acme');
  });
  afterAll(() => registry?.database.close());

  it('have another version after each change, also in the same moment', async () => {
    const { share_id } = await store.create(
      'acme',
      { targets: 'all', filter: ['kind=api'] },
      { by: 'user:default/admin' },
    );
    const versions = new Set<string>();
    const note = async () =>
      (await store.listActive()).forEach(({ version }) =>
        versions.add(version),
      );
    await note();
    for (const change of [{ filter: ['kind=group'] }, { owner: 'group:a/b' }]) {
      await store.update('acme', share_id, change);
      await registry.database.client.query(
        'update tenancy.tenant_shares set updated_at = created_at',
      );
      await note();
    }
    expect(versions.size).toBe(3);
  });

  it('mean by a filter what `/entities` means by it', async () => {
    const { share_id } = await store.create(
      'acme',
      { targets: 'all', filter: ['kind=api,kind'] },
      { by: 'user:default/admin' },
    );
    const active = await store.listActive();
    expect(active.find(share => share.shareId === share_id)?.filter).toEqual({
      kind: 'api',
    });
    await store.delete('acme', share_id);
  });

  it('are refused with a filter that no catalog reads', async () => {
    const filter = [Array.from({ length: 201 }, (_, i) => `a${i}`).join()];
    const by = 'user:default/admin';
    const create = store.create('acme', { targets: 'all', filter }, { by });
    await expect(create).rejects.toThrow('more than 200 conditions');
    const [{ share_id }] = (await store.list('acme')).shares;
    const update = store.update('acme', share_id, { filter });
    await expect(update).rejects.toThrow('more than 200 conditions');
  });

  it.each([
    ['a target', (long: string) => ({ slug: 'acme', targets: [long] })],
    ['the tenant', (long: string) => ({ slug: long, targets: 'all' as const })],
  ])('name %s that there is not by its beginning', async (_, given) => {
    const { slug, targets } = given('x'.repeat(100_000));
    const filter = ['kind=api'];
    await expect(
      store.create(slug, { targets, filter }, { by: 'user:default/admin' }),
    ).rejects.toThrow(/^.{1,250}$/);
  });

  it('are not replaced from another tenant, whoever gives its id', async () => {
    await registry.createTenant('globex');
    const newId = '6f6ae7ee-5f3c-8a59-9d4b-3c3d3f3d1d51';
    const filter = ['kind=api'];
    const create = (slug: string, owner: string) =>
      store.create(
        slug,
        { targets: 'all', filter, owner },
        { by: 'user:default/admin', newId },
      );
    const made = await create('acme', 'group:a/ours');
    await expect(create('globex', 'group:a/theirs')).rejects.toThrow(
      ConflictError,
    );
    expect((await store.list('acme')).shares).toContainEqual(made);
  });
});
