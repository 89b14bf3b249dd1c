/** The user that the guest's token names, who may also administer tenants. */
export const USER = 'user:default/guest';

/** As whom the backend reads the rows of tenants. */
export const APP_LOGIN = 'portal_app';

/** Of that login; the server is gone after the run. */
export const PASSWORD = 'only-for-benchmarks';

/** The schema of our tables. */
export const SCHEMA = 'tenancy';

/** The token of a service that calls the backend. */
export const SERVICE_TOKEN = 'only-for-benchmarks-of-the-load';

/** The host `<slug>.portal.example.com` names a tenant. */
export const BASE_DOMAIN = 'portal.example.com';

/** Where the backend listens to what only benchmarks ask for. */
export const BENCHMARK_PATH = '/api/benchmark';
