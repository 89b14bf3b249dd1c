import { escapeIdentifier } from './sql';

/**
 * Owns the tables and passes row-level security, by BYPASSRLS or by a policy for it
 * (`adminPolicyStatement`); NOLOGIN.
 */
export const ADMIN_ROLE = 'portal_admin';

/** The user that the application connects as. */
export const APP_ROLE = 'portal_app';

/**
 * What the application may do with a table of tenants' rows. TRUNCATE is not
 * among it: row-level security does not govern that.
 */
export const APP_PRIVILEGES = ['select', 'insert', 'update', 'delete'] as const;

/**
 * Hands a table, and the sequences that belong to its columns, to the
 * administrator's role. Takes ACCESS EXCLUSIVE, for a change of the catalog.
 */
export function ownerStatement(table: string): string {
  return `alter table ${escapeIdentifier(table)} owner to ${ADMIN_ROLE}`;
}
