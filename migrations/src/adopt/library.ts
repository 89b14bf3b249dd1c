import type { ClientConfig } from 'pg';
import type { Reporter } from '../Reporter';
import { TenancyMigration } from '../engine/TenancyMigration';
import { DEFAULT_TENANT_NAME } from '../schema/tables';
import { adopt as adoptCatalog } from './adopt';
import { readAdoptionStatus } from './status';
import type { AdoptionStatus } from './status';
import { retryAdoptionFaults } from './reconcile';
import { adoptedEngine } from './state';

/**
 * The options of an adoption. Only the connection has no default.
 *
 * @public
 */
export interface AdoptOptions {
  /**
   * As `pg` has it; `connectionOfKnex` makes one of a Knex instance. Of a login that
   * owns the engine's tables, or of a superuser.
   */
  connection: ClientConfig | string;
  /** The schema of the tenants' tables; `tenancy` by default. */
  schema?: string;
  /** The schema of the engine's tables; by default the one in which they are found. */
  catalogSchema?: string;
  /** For how long, in milliseconds, a request for a lock may hold up writers; 30 by default. */
  lockTimeoutMs?: number;
  /** At most so many entities in a batch; 2000 by default. */
  batchSize?: number;
  /** Also removes entities of the default tenant that the catalog does not have. */
  force?: boolean;
  /** Reports progress and warnings; silent by default. */
  reporter?: Reporter;
}

/**
 * The status after {@link adopt}.
 *
 * @public
 */
export type AdoptResult = AdoptionStatus;

/**
 * Makes the entities of the stock catalog in the same database those of the default
 * tenant, and keeps them equal from then on, in the transaction of each change. It
 * works before phase 1 and on a database at any phase, and can be called again at any
 * time: it then tries again what could not be carried, and changes nothing else.
 *
 * Several processes may call it at the same time: all but one get an
 * {@link OtherOperatorError}, and call again.
 *
 * @throws {@link RefusedError} if there is no catalog to adopt, or entities of the
 *   default tenant would be removed
 * @throws {@link OtherOperatorError} while another process works on the schema
 * @public
 */
export async function adopt(options: AdoptOptions): Promise<AdoptResult> {
  return withContext(options, 'change', async ({ context }) => {
    await adoptCatalog(context);
    return readAdoptionStatus(context);
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
  return withContext(options, 'change', async ({ context }) => {
    const engine = await adoptedEngine(context);
    if (engine) {
      await retryAdoptionFaults(context, engine);
    }
    return readAdoptionStatus(context);
  });
}

/**
 * The status of the adoption. It changes nothing and locks nothing.
 *
 * @public
 */
export async function readAdoption(
  options: Pick<AdoptOptions, 'connection' | 'schema' | 'catalogSchema'>,
): Promise<AdoptionStatus> {
  return withContext(options, 'read', ({ context }) =>
    readAdoptionStatus(context),
  );
}

async function withContext<T>(
  options: AdoptOptions,
  mode: 'read' | 'change',
  use: (migration: TenancyMigration) => Promise<T>,
): Promise<T> {
  const { connection } = options;
  const migration = await TenancyMigration.open({
    // An adoption runs none.
    phases: [],
    connection:
      typeof connection === 'string'
        ? { connectionString: connection }
        : connection,
    command: 'adopt',
    settings: {
      schema: options.schema ?? 'tenancy',
      catalogSchema: options.catalogSchema,
      lockTimeoutMs: options.lockTimeoutMs ?? 30,
      batchSize: options.batchSize ?? 2000,
      defaultTenantName: DEFAULT_TENANT_NAME,
      adminGrant: true,
      force: options.force ?? false,
    },
    reporter: options.reporter,
    mode,
  });
  try {
    return await use(migration);
  } finally {
    await migration.close();
  }
}
