import { createHash } from 'node:crypto';
import type { Knex } from 'knex';

/** What goes through the channel. */
export type ChangeMessage =
  /** The tenant with this slug was created, changed, deleted or restored. */
  | { tenantSlug: string }
  /** From a listener to itself, to learn whether it hears. */
  | { nonce: string };

/**
 * The channel of the registry in a schema. The name of a channel has less room than
 * that of a schema, and channels belong to the database.
 */
export function changeChannel(schema: string): string {
  const digest = createHash('sha256').update(schema).digest('hex');
  return `tenants_${digest.slice(0, 32)}`;
}

/**
 * Sends a message to all listeners, when the transaction commits.
 *
 * PostgreSQL lets the commits of transactions that notify go one by one, in one
 * database. Changes to the registry are rare.
 */
export function notifyStatement(
  knex: Knex,
  schema: string,
  message: ChangeMessage,
): Knex.Raw {
  return knex.raw('select pg_notify(?, ?)', [
    changeChannel(schema),
    JSON.stringify(message),
  ]);
}

/** Nothing if it is none of ours. */
export function parseChange(payload: string): ChangeMessage | undefined {
  try {
    const message = JSON.parse(payload);
    return typeof message?.tenantSlug === 'string' ||
      typeof message?.nonce === 'string'
      ? message
      : undefined;
  } catch {
    return undefined;
  }
}
