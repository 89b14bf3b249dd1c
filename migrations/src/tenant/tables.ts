import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type { ClientConfig } from 'pg';
import { RefusedError } from '../errors';

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

/** Where a repository of Backstage has the modules of its backend. */
const FOLDERS = ['packages/backend', '.'];

/**
 * Has the module of the engines make them, which knows the migrations: that of the repository in
 * which the command runs, so that the tables are those of its backend.
 */
export function makeTablesOf(tenancySchema: string): MakeTables {
  return async tables => {
    const { makeTenantTables } = loadEngines();
    try {
      await makeTenantTables({ ...tables, tenancySchema });
    } catch (error) {
      throw (error as Error).name === 'EngineTablesError'
        ? new RefusedError(`${(error as Error).message}.`)
        : error;
    }
  };
}

function loadEngines(): {
  makeTenantTables(
    tables: PartTables & { tenancySchema: string },
  ): Promise<void>;
} {
  for (const folder of FOLDERS) {
    try {
      return createRequire(join(resolve(folder), 'package.json'))(ENGINES);
    } catch (error) {
      if ((error as { code?: string }).code !== 'MODULE_NOT_FOUND') {
        throw error;
      }
    }
  }
  throw new RefusedError(
    `The tables of the tenant's engine can't be made without ${ENGINES}. Run the command in the repository of the portal, which has it.`,
  );
}
