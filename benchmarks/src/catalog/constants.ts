/** The user whom the guest's token names. */
export const USER = 'user:default/guest';

/** How many connections each pool of a backend may have to its database. */
export const POOL_SIZE = 10;

/** The schema of our tables, in the database of the catalog. */
export const SCHEMA = 'tenancy';

/** As whom our side reads the rows of tenants. */
export const APP_LOGIN = 'portal_app';

/** Of that login; the server is gone after the run. */
export const PASSWORD = 'only-for-benchmarks';

/** The tenant that is measured, where it is one among several. */
export const LARGE_TENANT = 'large';

/** The token of a service that calls the catalog, such as another backend. */
export const SERVICE_TOKEN = 'only-for-benchmarks-of-catalogs';

/** What answers at once, and shows what Backstage takes of each request. */
export const NOTHING_PATH = '/benchmark/nothing';
