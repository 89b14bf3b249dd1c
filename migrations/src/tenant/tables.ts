import type { ClientConfig } from 'pg';
import { RefusedError } from '../errors';
import { requireOfPortal } from './portalPackages';

/** The tables of an engine or instance that an import fills. */
export interface PartTables {
  /** Of the login, to the database of the plugin. */
  connection: ClientConfig;
  /** `engine`, or `plugin <id>`. */
  part: string;
  tenantId: string;
  /** Their schema, which does not exist yet. */
  schema: string;
  /** The migrations that made those of the export. */
  migrations: string[];
}

/** Makes tables by the migrations of their plugin. */
export type MakeTables = (tables: PartTables) => Promise<void>;

const ENGINES = 'backstage-plugin-catalog-backend-module-tenant-engines';

interface Engines {
  makeTenantTables(
    tables: PartTables & { tenancySchema: string },
  ): Promise<void>;
}

/** Has the module of the engines make them, which knows the migrations. */
export function makeTablesOf(tenancySchema: string): MakeTables {
  return async tables => {
    const engines = requireOfPortal<Engines>(ENGINES);
    if (!engines) {
      throw new RefusedError(
        `The tables of the tenant's engine can't be made without ${ENGINES}. Run the command in the repository of the portal, which has it.`,
      );
    }
    try {
      await engines.makeTenantTables({ ...tables, tenancySchema });
    } catch (error) {
      throw (error as Error).name === 'EngineTablesError'
        ? new RefusedError(`${(error as Error).message}.`)
        : error;
    }
  };
}
