export { APP_LOGIN, PASSWORD, SCHEMA } from '../catalog/constants';

/** The database of the catalog. */
export const DATABASE = 'catalog';

/** Who calls the backend, an administrator of tenants. */
export const SERVICE = 'benchmark';

/** Of that service. */
export const SERVICE_TOKEN = 'only-for-benchmarks-of-faults';

/**
 * How many connections to the tables of tenants a backend may have: fewer than there
 * are clients, so that they wait for each other.
 */
export const POOL_SIZE = 4;

/** The connection on which a backend hears of changes to tenants. */
export const LISTENING_CONNECTIONS = 1;

/** For how long an operation waits for a connection. */
export const CONNECTION_TIMEOUT_MS = 300;

/** For how long a read may take. */
export const STATEMENT_TIMEOUT_MS = 1_000;

/** How many connections PgBouncer shares out. */
export const BOUNCER_CONNECTIONS = 3;

/** The annotation that tells whose an entity is. */
export const TENANT_MARK = 'example.com/tenant';

/** The annotation that tells which change wrote an entity. */
export const VERSION_MARK = 'example.com/version';
