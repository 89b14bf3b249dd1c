import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { AuditedAdminDatabase } from '../database/AuditedAdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { outcomesOf, Registry } from '../tenants/__testUtils__/registry';
import { DirectoryUnderTest } from '../tenants/__testUtils__/DirectoryUnderTest';
import { DEFAULT_TENANT_ID } from '../tenants/Tenant';
import type { ActiveTenant } from '../tenants/TenantDirectory';
import { TenantMemberStore } from './TenantMemberStore';
import type { TenantMembers, TenantRole } from './TenantMembers';

const databases = createTestDatabases();

const BY = 'user:default/admin';
const JANE = 'user:default/jane';
const JOHN = 'user:default/john';
const TEAM = 'group:default/team';
const CI = 'external:ci';

describe.each(databases.eachSupportedId())('members on %s', id => {
  let registry: Registry;
  let store: TenantMemberStore;
  let otherPool: TenancyPool;
  let acme: ActiveTenant;
  let globex: ActiveTenant;
  const opened: DirectoryUnderTest[] = [];
  const forget = jest.fn();

  beforeAll(async () => {
    registry = await Registry.create(databases, id);
    otherPool = registry.database.createPool();
    store = storeOn({ forget });
  });
  afterAll(() => registry.database.close());
  beforeEach(async () => {
    await registry.empty();
    await registry.database.client.query('delete from tenant_members');
    acme = await createTenant('acme');
    globex = await createTenant('globex');
  });
  afterEach(async () => {
    await Promise.all(
      opened.splice(0).map(({ directory }) => directory.close()),
    );
  });

  function storeOn(members: Pick<TenantMembers, 'forget'>) {
    const { pool } = registry.database;
    return new TenantMemberStore({
      pool,
      admin: new AuditedAdminDatabase({ pool, auditor: registry.auditor }),
      members,
    });
  }

  async function createTenant(tenantSlug: string): Promise<ActiveTenant> {
    const { tenant_id } = await registry.createTenant(tenantSlug);
    return { tenantId: tenant_id, tenantSlug };
  }

  function open(pool: TenancyPool): DirectoryUnderTest {
    const tested = new DirectoryUnderTest(pool);
    opened.push(tested);
    return tested;
  }

  const put = (
    slug: string,
    principal: string,
    role: TenantRole = 'member',
    keepAdmin = false,
  ) => store.put(slug, { principal, role }, { by: BY, keepAdmin });

  describe('the last admin', () => {
    it('stays where two remove each other at the same time', async () => {
      await put('acme', JANE, 'admin');
      await put('acme', JOHN, 'admin');
      const outcomes = await outcomesOf([
        store.remove('acme', JANE, { keepAdmin: true }),
        store.remove('acme', JOHN, { keepAdmin: true }),
      ]);
      expect(outcomes).toEqual(['ConflictError', 'done']);
      await expect(store.list('acme')).resolves.toMatchObject({
        totalItems: 1,
      });
    });
  });

  describe('tenantsOf', () => {
    const slugsOf = async (
      ...options: Parameters<TenantMemberStore['tenantsOf']>
    ) => {
      const { items } = await store.tenantsOf(...options);
      return items.map(({ tenant_slug, role }) => `${tenant_slug}: ${role}`);
    };

    it('takes the role of a member over that of one who enters anyway', async () => {
      await put('acme', JANE, 'viewer');
      await put('globex', JANE, 'viewer');
      await put('globex', TEAM, 'member');
      await expect(slugsOf([JANE, TEAM], { beyond: 'all' })).resolves.toEqual([
        'acme: viewer',
        'default: member',
        'globex: member',
      ]);
    });
  });

  describe('roleOf', () => {
    it('is the highest role of any principal, in that tenant alone', async () => {
      const { directory: members } = open(registry.database.pool);
      await put('acme', JANE);
      await put('acme', TEAM, 'admin');
      await put('globex', CI);
      await expect(members.roleOf(acme, [JANE])).resolves.toBe('member');
      await expect(members.roleOf(acme, [JANE, TEAM])).resolves.toBe('admin');
      await expect(members.roleOf(acme, ['User:default/JANE'])).resolves.toBe(
        'member',
      );
      await expect(members.roleOf(globex, [CI])).resolves.toBe('member');
      await expect(members.roleOf(acme, [CI])).resolves.toBeUndefined();
      await expect(
        members.roleOf(globex, [JANE, TEAM]),
      ).resolves.toBeUndefined();
      await expect(members.roleOf(acme, [])).resolves.toBeUndefined();
    });

    it('knows of a removal, an addition and a change in every process that is notified', async () => {
      const tested = open(otherPool);
      await put('acme', JANE, 'admin');
      await tested.begin();
      const becomes = (role: TenantRole | undefined) =>
        waitUntil(
          `the other process to know the role ${role}`,
          async () => (await tested.directory.roleOf(acme, [JANE])) === role,
        );
      await becomes('admin');
      await store.remove('acme', JANE);
      await becomes(undefined);
      await put('acme', JANE);
      await becomes('member');
      await put('acme', JANE, 'admin');
      await becomes('admin');
      expect(tested.directory.isListening).toBe(true);
    });
  });

  it('write an audit event for each change, and tell the cache', async () => {
    await put('acme', JANE);
    await store.remove('acme', JANE);
    expect(
      registry.auditor.createEvent.mock.calls.map(([event]) => event.meta),
    ).toEqual(
      expect.arrayContaining([
        { reason: 'put a member' },
        { reason: 'remove a member' },
      ]),
    );
    expect(forget).toHaveBeenCalledWith(acme.tenantId);
    expect(forget).not.toHaveBeenCalledWith(DEFAULT_TENANT_ID);
  });

  it('are changed without waiting for those who write rows of the tenant', async () => {
    const { client } = registry.database;
    await client.query('begin');
    try {
      await client.query(
        'select from tenants where tenant_id = $1 for key share',
        [acme.tenantId],
      );
      await expect(put('acme', JANE)).resolves.toMatchObject({
        outcome: 'created',
      });
    } finally {
      await client.query('rollback');
    }
  });
});
