import { createHash } from 'node:crypto';
import { escapeLiteral } from './sql';

/**
 * The channel on which changes of the registry in a schema are notified. The name of a channel
 * has less room than that of a schema, and channels belong to the database.
 *
 * @public
 */
export function registryChannel(schema: string): string {
  const digest = createHash('sha256').update(schema).digest('hex');
  return `tenants_${digest.slice(0, 32)}`;
}

/** The statement that notifies running backends of a change, when its transaction commits. */
export function notifyRegistryStatement(
  schema: string,
  change: { tenantSlug: string } | { membersOf: string },
): string {
  return `select pg_notify('${registryChannel(schema)}', ${escapeLiteral(
    JSON.stringify(change),
  )})`;
}
