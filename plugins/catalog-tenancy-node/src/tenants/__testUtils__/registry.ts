import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { mockAuditor } from '../../__testUtils__/serviceMocks';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../../__testUtils__/tenancyDatabase';
import { AuditedAdminDatabase } from '../../database/AuditedAdminDatabase';
import { PooledTenantDatabase } from '../../database/PooledTenantDatabase';
import { type TenancyPool } from '../../pool/TenancyPool';
import { TenantStore } from '../TenantStore';
import { DEFAULT_TENANT_ID, type Tenant } from '../Tenant';
import type { TenantDirectory } from '../TenantDirectory';

/** A migrated database with a registry, and ways to fill it. */
export class Registry {
  readonly auditor = mockAuditor();
  readonly forget = jest.fn();
  readonly admin: AuditedAdminDatabase;
  readonly store: TenantStore;

  static async create(
    databases: TestDatabases,
    id: TestDatabaseId,
  ): Promise<Registry> {
    return new Registry(await createTenancyDatabase(databases, id));
  }

  private constructor(readonly database: TenancyDatabase) {
    this.admin = new AuditedAdminDatabase({
      pool: database.pool,
      auditor: this.auditor,
    });
    this.store = this.storeOn(database.pool);
  }

  storeOn(
    pool: TenancyPool,
    directory: Pick<TenantDirectory, 'forget'> = { forget: this.forget },
  ) {
    return new TenantStore({
      pool,
      admin: new AuditedAdminDatabase({ pool, auditor: this.auditor }),
      database: new PooledTenantDatabase(pool),
      directory,
    });
  }

  /** Leaves the default tenant alone. */
  async empty(): Promise<void> {
    jest.clearAllMocks();
    this.auditor.createEvent.mockResolvedValue({
      success: async () => {},
      fail: async () => {},
    });
    await this.database.client.query(
      'delete from tenants where tenant_id <> $1',
      [DEFAULT_TENANT_ID],
    );
  }

  createTenant(tenant_slug: string): Promise<Tenant> {
    return this.store.create({ tenant_slug, tenant_name: `Of ${tenant_slug}` });
  }

  /** @returns the id of the entity */
  async insertEntity(
    tenantId: string,
    name: string,
    deletedAt?: Date,
  ): Promise<string> {
    const { rows } = await this.database.client.query<{ entity_id: string }>(
      `insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace,
                             entity_name, final_entity, hash, deleted_at)
       values ($1, 'component:default/' || $2::text, 'component', 'default', $2, '{}',
               'x', $3)
       returning entity_id`,
      [tenantId, name, deletedAt],
    );
    return rows[0].entity_id;
  }
}

/** How attempts ended: `done`, or the name of the error; in order. */
export async function outcomesOf(work: Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(work);
  return settled
    .map(each => (each.status === 'fulfilled' ? 'done' : each.reason.name))
    .sort();
}
