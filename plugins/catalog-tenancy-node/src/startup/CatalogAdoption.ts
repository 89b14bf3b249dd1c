import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  adopt,
  type AdoptedTenantStatus,
  type AdoptionStatus,
  operatorCommand,
  OtherOperatorError,
  readAdoptedTenants,
  readAdoption,
  type Reporter,
  retryFaults,
} from 'backstage-catalog-tenancy-migrations';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientConfig } from 'pg';
import { DEFAULT_TENANT_ID } from '../tenants/Tenant';
import { withClient } from './catalogConnection';

/** The database that the stock catalog and the tenants share. */
export interface CatalogDatabase {
  /** How the catalog plugin connects. */
  connection: ClientConfig;
  /** The schema of tenants' tables. */
  schema: string;
  /** The schema of the stock catalog's tables. */
  catalogSchema?: string;
}

// How often to retry while another process or an operator holds the migration's lock.
const POLL_MS = 500;

/**
 * Copies the stock catalog's entities to the default tenant and keeps them in sync.
 *
 * @public
 */
export interface CatalogAdoption {
  /**
   * Whether the default tenant's catalog is complete. Before that, it is empty or partly
   * filled.
   */
  readonly isComplete: boolean;

  /**
   * Adopts the catalog, or waits until another process has done so. Does nothing if the
   * adoption is complete. Requires the tables of the stock catalog, which the catalog plugin
   * creates at its start.
   *
   * @throws `MigrationError` that says what to do; another attempt resumes where this one ended
   */
  complete(signal?: AbortSignal): Promise<void>;

  /**
   * Retries the adoption faults of each tenant. Skips the default tenant until its adoption is
   * complete, and does nothing while another process works on the tables.
   *
   * @throws `MigrationError` that says what to do
   */
  retryFaults(): Promise<void>;
}

/** With multi-tenancy off, a backend neither adopts nor retries. */
export const NO_ADOPTION: CatalogAdoption = {
  isComplete: true,
  complete: async () => {},
  retryFaults: async () => {},
};

/** The adoption of the stock catalog by this backend. */
export class BackendAdoption implements CatalogAdoption {
  readonly #database: CatalogDatabase;
  readonly #logger: LoggerService;
  #isComplete: boolean;

  /** @param options - `isComplete`: there is nothing to adopt, or it was adopted before */
  constructor(options: {
    database: CatalogDatabase;
    logger: LoggerService;
    isComplete: boolean;
  }) {
    this.#database = options.database;
    this.#logger = options.logger;
    this.#isComplete = options.isComplete;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  async complete(signal?: AbortSignal): Promise<void> {
    let isWaiting = false;
    while (!this.#isComplete) {
      try {
        await this.#attempt();
      } catch (error) {
        if (!(error instanceof OtherOperatorError)) {
          throw error;
        }
        if (!isWaiting) {
          this.#logger.info(`The adoption waits: ${error.message}`);
          isWaiting = true;
        }
        await delay(POLL_MS, undefined, { signal });
      }
    }
  }

  /** Continues with the other tenants if one fails, or has lost the tables of its engine. */
  async retryFaults(): Promise<void> {
    const tenants = await readAdoptedTenants(this.#database);
    const errors: unknown[] = [];
    for (const tenant of tenants) {
      const isDefault = tenant.tenantId === DEFAULT_TENANT_ID;
      if (
        tenant.engineTables &&
        (isDefault
          ? this.#isComplete && tenant.isComplete && tenant.faults > 0
          : !tenant.isComplete || tenant.faults > 0)
      ) {
        await this.#retry(tenant).catch(error => errors.push(error));
      }
    }
    if (errors.length > 0) {
      throw errors[0];
    }
  }

  async #attempt(): Promise<void> {
    const database = this.#database;
    let status = await readAdoption(database);
    if (!status.adopted) {
      status = await adopt({ ...database, reporter: reporterOf(this.#logger) });
      this.#logger.info(
        'The catalog is adopted: the default tenant has what its engine ingests',
      );
    }
    this.#isComplete = true;
    await forgetIntent(database);
    warnOfFaults(status, this.#logger);
  }

  async #retry(tenant: AdoptedTenantStatus): Promise<void> {
    const { tenantId, catalogSchema } = tenant;
    try {
      const { faults } = await retryFaults({
        ...this.#database,
        tenantId,
        catalogSchema,
      });
      const carried = tenant.faults - faults;
      if (carried > 0) {
        this.#logger.info(
          `${carried} of ${tenant.faults} rows of the catalog's engine that could not be ` +
            `carried over to the ${describe(tenant)} are there now`,
        );
      }
    } catch (error) {
      // Retried at the next interval.
      if (!(error instanceof OtherOperatorError)) {
        throw error;
      }
    }
  }
}

function describe({ tenantId, slug }: AdoptedTenantStatus): string {
  return tenantId === DEFAULT_TENANT_ID
    ? 'default tenant'
    : `tenant "${slug ?? tenantId}"`;
}

/** What a migration reports, in the log of the backend. */
export function reporterOf(logger: LoggerService): Reporter {
  return {
    info: message => logger.debug(message),
    warn: message => logger.warn(message),
    waiting: (what, attempts) =>
      logger.info(`Waiting for a lock (attempt ${attempts}): ${what}`),
    progress: () => ({ advance: () => {}, finish: () => {} }),
  };
}

/** Logs how many rows of the catalog could not be copied to the default tenant. */
export function warnOfFaults(
  { faults }: AdoptionStatus,
  logger: LoggerService,
): void {
  if (faults > 0) {
    logger.warn(
      `${faults} ${
        faults === 1 ? 'row' : 'rows'
      } of the catalog's engine could not ` +
        'be carried over to the default tenant, and the entities of those are not ' +
        `shown there. "${operatorCommand('status')}" lists them with the ` +
        'reasons. They are tried again with each change of them, every few minutes by the ' +
        `backend, and by "${operatorCommand('adopt')}".`,
    );
  }
}

// A row in the state table of the migration.
const NOTES = 'tenancy_migration_state';
const KEY = 'backendAdopts';

/**
 * Records that the backend adopts the catalog itself, because it was empty. If the adoption
 * fails, the stock catalog keeps ingesting, and a later start finds entities that are not
 * adopted; by this record it knows that it may adopt them.
 */
export async function noteIntent(database: CatalogDatabase): Promise<void> {
  await run(
    database,
    notes => `insert into ${notes} (key, value) values ($1, 'true')
              on conflict do nothing`,
  );
}

/** Whether the intent is recorded. */
export async function hasIntent(database: CatalogDatabase): Promise<boolean> {
  const rows = await run(
    database,
    notes => `select from ${notes} where key = $1`,
  );
  return rows > 0;
}

/** Otherwise the backend would repeat an adoption that an operator undoes later. */
async function forgetIntent(database: CatalogDatabase): Promise<void> {
  await run(database, notes => `delete from ${notes} where key = $1`);
}

/** Without rights on the state table, the intent counts as absent. */
async function run(
  { connection, schema }: CatalogDatabase,
  statement: (notes: string) => string,
): Promise<number> {
  return withClient(connection, async client => {
    const { rows } = await client.query<{ notes: string | null }>(
      `select c.oid::regclass::text as notes
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relname = $2
          and has_schema_privilege(n.oid, 'usage')
          and has_table_privilege(c.oid, 'select')
          and has_table_privilege(c.oid, 'insert')
          and has_table_privilege(c.oid, 'delete')`,
      [schema, NOTES],
    );
    const [found] = rows;
    if (!found?.notes) {
      return 0;
    }
    const result = await client.query(statement(found.notes), [KEY]);
    return result.rowCount ?? 0;
  });
}
