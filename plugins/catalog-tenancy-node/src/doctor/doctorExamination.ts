import type {
  LoggerService,
  RootConfigService,
} from '@backstage/backend-plugin-api';
import {
  type DoctorExamination,
  type DoctorFinding,
  status,
} from 'backstage-catalog-tenancy-migrations';
import type { ClientConfig } from 'pg';
import {
  explainFlag,
  readTenancyConfig,
  type TenancyConfig,
} from '../config/readTenancyConfig';
import { TenancyPool } from '../pool/TenancyPool';
import type { CatalogDatabase } from '../startup/CatalogAdoption';
import {
  CATALOG_DATABASE,
  explainFault,
  findCatalog,
  tenancyConnection,
  withClient,
} from '../startup/catalogConnection';
import { checkDatabase } from '../startup/checkDatabase';
import { judgeAdoption } from '../startup/decideAdoption';
import { ensureLogin } from '../startup/ensureLogin';
import { LAST_PHASE } from '../startup/layout';
import { describePhase } from '../startup/prepareTables';
import { warnOfMembership } from '../startup/warnOfMembership';
import { examined, recordingLogger } from './examined';

/** The thrown error has what the pool would log. */
const SILENT = recordingLogger([]);

/**
 * Runs the checks of a starting backend on the configuration and the database, for the command
 * `doctor`.
 *
 * @public
 */
export const doctorExamination: DoctorExamination = async config => {
  let tenancy: TenancyConfig | undefined;
  const findings = await examined('configuration', {
    ok: 'tenancy is configured as it should be.',
    check: logger => {
      tenancy = readTenancyConfig(config);
      const misspelt = explainFlag(config);
      if (misspelt) {
        logger.warn(misspelt);
      }
    },
  });
  return tenancy
    ? [
        ...findings,
        ...(await examineDatabase(config as RootConfigService, tenancy)),
      ]
    : findings;
};

async function examineDatabase(
  config: RootConfigService,
  tenancy: TenancyConfig,
): Promise<DoctorFinding[]> {
  const { schema } = tenancy;
  const found: { database?: CatalogDatabase; own?: ClientConfig } = {};
  const findings = await examined('database', {
    ok: 'The database of the catalog answers.',
    check: async () => {
      const { connection, catalogSchema, fault } = await findCatalog(config);
      if (fault !== undefined) {
        throw explainFault(fault, CATALOG_DATABASE);
      }
      found.database = { connection, schema, catalogSchema };
      found.own = await tenancyConnection(config, tenancy.connection);
    },
  });
  const { database, own } = found;
  if (!database || !own) {
    return findings;
  }
  const ofTables = await examineTables(database, tenancy);
  findings.push(...ofTables);
  // Without tables there is no isolation to check.
  return hasFailed(ofTables) || (await status(database)).phase < LAST_PHASE
    ? findings
    : [
        ...findings,
        ...(await examineAsApplication({ database, own, tenancy })),
        ...(await examineReplica(config, tenancy)),
      ];
}

async function examineTables(
  database: CatalogDatabase,
  { enabled }: TenancyConfig,
): Promise<DoctorFinding[]> {
  return examined('tables', {
    ok: `The tables of tenants are in the schema "${database.schema}".`,
    check: async logger => {
      const { phase, tables } = await status(database);
      if (phase >= LAST_PHASE) {
        return;
      }
      const isNew = tables.length === 0;
      const message = isNew
        ? `The schema "${database.schema}" has no tables of tenants yet: the first start with MULTI_TENANCY_ENABLED=true makes them where the catalog has no entities.`
        : `Schema "${database.schema}": ${await describePhase(database)}`;
      if (enabled && !isNew) {
        throw new Error(message);
      }
      logger.warn(message);
    },
  });
}

/** Checks the rights of the application's database user. */
async function examineAsApplication(options: {
  database: CatalogDatabase;
  own: ClientConfig;
  tenancy: TenancyConfig;
}): Promise<DoctorFinding[]> {
  const { database, own, tenancy } = options;
  const login = await examined('login', {
    ok: `The user "${own.user}" can log in.`,
    check: () => ensureLogin(own, database.connection),
  });
  if (login.some(({ level }) => level !== 'ok')) {
    return login;
  }
  /** Runs a check on connections of the application's user. */
  const withPool =
    (check: (pool: TenancyPool, logger: LoggerService) => Promise<unknown>) =>
    async (logger: LoggerService) => {
      const pool = TenancyPool.create({
        connection: own,
        schema: database.schema,
        pool: { ...tenancy.pool, max: 2 },
        logger: SILENT,
      });
      return check(pool, logger).finally(() => pool.close());
    };
  return [
    ...login,
    ...(await examined('isolation', {
      ok: 'Roles, policies and grants keep tenants apart.',
      check: withPool((pool, logger) =>
        checkDatabase(pool, logger, {
          catalogUser: database.connection.user,
        }),
      ),
    })),
    ...(await examined('adoption', {
      ok: 'The default tenant has what the catalog has.',
      check: withPool(async (pool, logger) =>
        (await judgeAdoption({ database, pool, logger })) === 'complete'
          ? undefined
          : 'The first start with tenants adopts the catalog.',
      ),
    })),
    ...(await examined('members', {
      ok: 'Each tenant has members.',
      check: withPool((pool, logger) =>
        warnOfMembership(pool, tenancy, logger),
      ),
    })),
    ...(await examineEngines(database)),
  ];
}

async function examineEngines(
  database: CatalogDatabase,
): Promise<DoctorFinding[]> {
  const { engines } = await status(database);
  return engines
    ? [
        {
          subject: 'engines',
          level: engines.failing > 0 ? 'failure' : 'ok',
          message: engines.summary,
        },
      ]
    : [];
}

async function examineReplica(
  config: RootConfigService,
  { connection, replica }: TenancyConfig,
): Promise<DoctorFinding[]> {
  return replica
    ? examined('replica', {
        ok: 'The replica answers.',
        check: async logger => {
          const own = await tenancyConnection(
            config,
            connection,
            replica.connection,
          );
          const isReplica = await withClient(own, async client => {
            const { rows } = await client.query(
              'select pg_is_in_recovery() as "isReplica"',
            );
            return rows[0].isReplica;
          }).catch(error => {
            throw explainFault(error, {
              ...CATALOG_DATABASE,
              name: 'The replica',
              key: 'tenancy.database.replica.connection',
            });
          });
          if (!isReplica) {
            logger.warn(
              'tenancy.database.replica names a server that is not a replica, so reads go to the primary. Check tenancy.database.replica.connection.',
            );
          }
        },
      })
    : [];
}

function hasFailed(findings: DoctorFinding[]): boolean {
  return findings.some(({ level }) => level === 'failure');
}
