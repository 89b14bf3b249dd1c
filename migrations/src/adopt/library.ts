import { DEFAULT_TENANT_ID } from '../schema/tables';
import type { MigrateOptions } from '../migrateTo';
import { withMigration } from '../withMigration';
import { adopt as adoptCatalog } from './adopt';
import { parseTenantId, requireTenant } from './engine';
import { bringAdoptionAlong } from './functions';
import { readAdoptedTenantStatus, readAdoptionStatus } from './status';
import type { AdoptedTenantStatus, AdoptionStatus } from './status';
import { retryAdoptionFaults } from './reconcile';
import { adoptedEngine } from './state';

const READ = { command: 'adopt', mode: 'read' } as const;
const CHANGE = { command: 'adopt', mode: 'change' } as const;

/**
 * The options of an adoption. Only the connection has no default.
 *
 * @public
 */
export interface AdoptOptions
  extends Pick<
    MigrateOptions,
    'connection' | 'schema' | 'maxPauseMs' | 'batchSize' | 'reporter'
  > {
  /**
   * The tenant that the engine belongs to; the default tenant by default. The engine of
   * another one is in the schema that {@link engineSchemaOf} returns, unless `catalogSchema`
   * names one.
   */
  tenantId?: string;
  /** The schema of the engine's tables; by default the one in which they are found. */
  catalogSchema?: string;
  /** Also removes entities of the tenant that the catalog does not have. */
  force?: boolean;
}

/**
 * Makes the entities of the stock catalog in the same database those of the default
 * tenant, and keeps them equal from then on, in the transaction of each change. Where the
 * database has no tables of tenants, it creates them first, by phases 1 to 5. It can be called
 * again at any time: it then tries again what could not be carried, and changes nothing else.
 *
 * With `tenantId` it does so for that tenant and its engine, once phase 5 is complete.
 *
 * Several processes may call it at the same time: all but one get an
 * {@link OtherOperatorError}, and call again.
 *
 * @throws {@link RefusedError} if there is no catalog to adopt, or entities of the
 *   default tenant would be removed
 * @throws {@link OtherOperatorError} while another process works on the schema
 * @public
 */
export async function adopt(options: AdoptOptions): Promise<AdoptionStatus> {
  const tenantId = tenantOf(options);
  return withMigration(options, CHANGE, async migration => {
    const { context } = migration;
    const tenant =
      tenantId === DEFAULT_TENANT_ID
        ? {}
        : await requireTenant(context, tenantId);
    await adoptCatalog(migration, tenant);
    return readAdoptionStatus(context, tenantId);
  });
}

/**
 * Retries what could not be carried. It compares all entities only where a fault's
 * entity is unknown, and does nothing where no catalog is adopted.
 *
 * @throws {@link RefusedError} if the login may not write to the tables
 * @throws {@link OtherOperatorError} while another process works on the schema
 * @public
 */
export async function retryFaults(
  options: Omit<AdoptOptions, 'force'>,
): Promise<AdoptionStatus> {
  const tenantId = tenantOf(options);
  return withMigration(options, CHANGE, async ({ context }) => {
    const engine = await adoptedEngine(context, tenantId);
    if (engine) {
      await bringAdoptionAlong(context);
      await retryAdoptionFaults(context, engine);
    }
    return readAdoptionStatus(context, tenantId);
  });
}

/**
 * The status of the adoption. It changes nothing and locks nothing.
 *
 * @public
 */
export async function readAdoption(
  options: Pick<
    AdoptOptions,
    'connection' | 'schema' | 'catalogSchema' | 'tenantId'
  >,
): Promise<AdoptionStatus> {
  const tenantId = tenantOf(options);
  return withMigration(options, READ, ({ context }) =>
    readAdoptionStatus(context, tenantId),
  );
}

/**
 * The tenants with an adopted engine, the default one first. It changes nothing and locks
 * nothing.
 *
 * @public
 */
export async function readAdoptedTenants(
  options: Pick<AdoptOptions, 'connection' | 'schema'>,
): Promise<AdoptedTenantStatus[]> {
  return withMigration(options, READ, ({ context }) =>
    readAdoptedTenantStatus(context),
  );
}

function tenantOf({ tenantId }: Pick<AdoptOptions, 'tenantId'>): string {
  return tenantId === undefined ? DEFAULT_TENANT_ID : parseTenantId(tenantId);
}
