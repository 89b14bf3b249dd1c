/** The tables whose rows belong to tenants. */
export const TENANT_TABLES = ['entities', 'relations', 'refresh_state'];

/** The role that owns the tables, whom row-level security does not bind. */
export const ADMIN_ROLE = 'portal_admin';

/** The user that the migration makes for the application. */
export const APP_ROLE = 'portal_app';

/** The last phase before the cutover. */
export const LAST_PHASE = 5;
