import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  describeFinding,
  examineIsolation,
  examineMaintenance,
  examineShards,
  isDistributed,
  type IsolationFinding,
  operatorCommand,
  type QueryRows,
} from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import type { TenancyPool } from '../pool/TenancyPool';
import { TenancyStartupError } from './TenancyStartupError';
import { ADMIN_ROLE, APP_ROLE } from './layout';

/** The remedy for a wrong database user. */
export const CONNECT_AS_APP =
  `connect as ${APP_ROLE}: set tenancy.database.connection.user and .password (the ` +
  'documented configuration takes them from TENANCY_POSTGRES_USER and ' +
  'TENANCY_POSTGRES_PASSWORD)';

// The checks report missing tables themselves.
const BEFORE_ALL_IS_WELL = { evenIfNotReady: true };

/**
 * Checks that row-level security is in place and that the database user cannot bypass it.
 *
 * @param options - `catalogUser`: the user of the catalog plugin's connection. If the pool has
 * the same user, tenancy.database.connection was probably not configured
 * @throws {@link TenancyStartupError} with all findings and their remedies
 */
export async function checkDatabase(
  pool: TenancyPool,
  logger: LoggerService,
  options: { catalogUser?: string } = {},
): Promise<void> {
  const user = await readDatabaseUser(pool);
  const read: QueryRows = (sql, values) =>
    pool.query(knex => toRaw(knex, sql, values), BEFORE_ALL_IS_WELL);
  const { missing, findings } = await examineIsolation({
    read,
    schema: pool.schema,
    user: user.name,
    isPartitioned: true,
  });
  const ofShards = await findingsOfShards(pool, user);
  const isForgotten =
    user.name === options.catalogUser && user.name !== APP_ROLE;
  const found = [...missing, ...findings, ...ofShards.findings];
  const told = isForgotten ? withForgottenUser(user.name, found) : found;
  if (told.length > 0) {
    throw new TenancyStartupError(
      [
        findings.length + ofShards.findings.length > 0
          ? 'The database does not keep tenants apart, so their catalogs are not served:'
          : 'The catalogs of tenants are not served, because of what the database lacks:',
        ...told.map(finding => `- ${describeFinding(finding)}`),
      ].join('\n'),
    );
  }
  const maintenance = await examineMaintenance(read, pool.schema);
  [
    ...ofShards.warnings,
    ...warningsOf(user),
    ...maintenance.map(describeFinding),
  ].forEach(warning => logger.warn(warning));
}

/** Findings on the nodes, if Citus has distributed the tables. */
async function findingsOfShards(
  pool: TenancyPool,
  { mayActAsAdmin }: DatabaseUser,
): Promise<{ findings: IsolationFinding[]; warnings: string[] }> {
  const reading =
    (asAdmin: boolean) =>
    <TRow extends object>(sql: string, values: unknown[]) =>
      pool.query<TRow>(knex => toRaw(knex, sql, values), {
        ...BEFORE_ALL_IS_WELL,
        asAdmin,
      });
  if (!(await isDistributed(reading(false), pool.schema))) {
    return { findings: [], warnings: [] };
  }
  return mayActAsAdmin
    ? {
        findings: await examineShards({
          read: reading(true),
          schema: pool.schema,
        }),
        warnings: [],
      }
    : {
        findings: [],
        warnings: [
          `The policies of the shards on the nodes of Citus were not checked, because only ${ADMIN_ROLE} ` +
            `may do that. Run "${operatorCommand('verify')}".`,
        ],
      };
}

/** Merges all findings about a wrongly configured user into one. */
function withForgottenUser(
  user: string,
  findings: IsolationFinding[],
): IsolationFinding[] {
  const wrong = findings.flatMap(({ ofUser }) => ofUser ?? []);
  const others = findings.filter(({ ofUser }) => ofUser === undefined);
  return wrong.length === 0
    ? others
    : [
        {
          problem:
            `The database user '${user}' is that of the catalog's own database, ` +
            `not ${APP_ROLE}, and ${wrong.join('; ')}`,
          remedy: CONNECT_AS_APP,
        },
        ...others,
      ];
}

async function readDatabaseUser(pool: TenancyPool): Promise<DatabaseUser> {
  // Since PostgreSQL 16, acting as a role needs its SET option.
  const [user] = await pool.query<DatabaseUser>(
    knex =>
      knex.raw(
        `select session_user::text as name,
              current_setting('server_version_num')::int as version,
              coalesce((select pg_has_role(session_user, a.oid,
                  case when current_setting('server_version_num')::int >= 160000
                       then 'SET' else 'MEMBER' end)
                from pg_roles a where a.rolname = 'portal_admin'), false)
                as "mayActAsAdmin"`,
      ),
    BEFORE_ALL_IS_WELL,
  );
  return user;
}

/** Converts `$1` to Knex's placeholders. */
function toRaw(knex: Knex, sql: string, values: unknown[]): Knex.Raw {
  const bindings: Knex.RawBinding[] = [];
  const text = sql.replace(/\?/g, '\\?').replace(/\$(\d+)/g, (_, number) => {
    bindings.push(values[Number(number) - 1] as Knex.RawBinding);
    return '?';
  });
  return knex.raw(text, bindings);
}

/** The database user of the pool. */
interface DatabaseUser {
  name: string;
  /** `server_version_num` */
  version: number;
  /** Whether the user may act as `portal_admin`. */
  mayActAsAdmin: boolean;
}

interface Leak {
  name: string;
  /** The first fixed minor version, by major version. */
  fixedIn: Record<number, number>;
}

// Vulnerabilities that bypass row-level security. Later major versions never had them.
const LEAKS: Leak[] = [
  {
    name: 'CVE-2024-10976',
    fixedIn: { 12: 21, 13: 17, 14: 14, 15: 9, 16: 5, 17: 1 },
  },
  {
    name: 'CVE-2025-8713',
    fixedIn: { 13: 22, 14: 19, 15: 14, 16: 10, 17: 6 },
  },
];

/** Findings that an operator may accept. */
function warningsOf(user: DatabaseUser): string[] {
  const { name, version, mayActAsAdmin } = user;
  return [
    ...warningsOfVersion(version),
    ...(mayActAsAdmin
      ? []
      : [
          `${ADMIN_ROLE} is not granted to the database user '${name}': ` +
            'tenants can neither be created, changed, deleted nor restored ' +
            'through /api/tenants, and deleted entities are not purged. To ' +
            'have these, run ' +
            `"grant ${ADMIN_ROLE} to ${name}" (from PostgreSQL 16 on, ` +
            'followed by "with inherit false").',
        ]),
  ];
}

/** @param version - `server_version_num` */
export function warningsOfVersion(version: number): string[] {
  const major = Math.floor(version / 10_000);
  const minor = version % 10_000;
  const open = LEAKS.filter(({ fixedIn }) => minor < (fixedIn[major] ?? 0));
  if (open.length === 0) {
    return [];
  }
  const fixed = Math.max(...open.map(({ fixedIn }) => fixedIn[major]));
  return [
    `PostgreSQL ${major}.${minor} may show rows past row-level security ` +
      `(${open
        .map(({ name }) => name)
        .join(', ')}): update it to ${major}.${fixed} ` +
      'or later.',
  ];
}
