import type {
  ListTenantAudit,
  TenantAuditEvent,
  TenantAuditPage,
} from 'backstage-plugin-tenants-common';
import type { LastStatement } from '../pool/TenancyPool';

/**
 * What is known of an operation when it begins.
 *
 * @public
 */
export interface BegunAuditEvent
  extends Pick<
    TenantAuditEvent,
    'plugin' | 'event' | 'severity' | 'actor' | 'ip' | 'meta'
  > {
  /** Of the tenant in which it is done. */
  tenantSlug: string;
  /** The header `User-Agent` of the request, if there is one. */
  userAgent: string | null;
  /** The method of the request. */
  method: string | null;
  /** The path of the request, without its query. */
  path: string | null;
}

/**
 * What became of an operation.
 *
 * @public
 */
export interface EndedAuditEvent {
  /** Whether it succeeded. */
  outcome: 'succeeded' | 'failed';
  /** Why it failed. */
  error?: Error;
  /** What there is to tell beside what was told at the beginning. */
  meta?: Record<string, unknown>;
}

/**
 * The record of an operation that has begun.
 *
 * @public
 */
export interface TenantAuditRecord {
  /** Records how the operation ends, and resolves once that is stored. */
  end(ended: EndedAuditEvent): Promise<void>;

  /**
   * What a transaction of the administrator sends with its commit, so that it stores that the
   * operation has succeeded where it has written anything. {@link TenantAuditRecord.end} then has
   * nothing left to store, unless it is told something else.
   *
   * @param describe - what the end will tell beside what was told at the beginning
   */
  storeWith(describe: () => Promise<EndedAuditEvent['meta']>): LastStatement;
}

/**
 * The audit trails of tenants: who did what, when, from where and with what outcome. It asks no
 * permissions.
 *
 * @public
 */
export interface TenantAuditTrail {
  /**
   * Records that an operation begins. It waits where many events wait to be stored, as they do
   * while the database is away.
   *
   * @throws `ServiceUnavailableError` where nothing could be stored for 10 seconds
   */
  begin(event: BegunAuditEvent): Promise<TenantAuditRecord>;

  /**
   * A page of the trail of a tenant, also of a deleted one, the newest events first.
   *
   * @throws `NotFoundError` if there is no such tenant; `InputError` for a malformed query
   */
  list(tenantSlug: string, query?: ListTenantAudit): Promise<TenantAuditPage>;

  /** Deletes the events that are older than `tenancy.audit.keepDays`, and returns how many. */
  deleteOld(signal?: AbortSignal): Promise<number>;

  /**
   * Sends events of all tenants to the webhook of the configuration, until it has all.
   *
   * @throws where the webhook does not take them; they are sent again by the next call
   */
  send(signal?: AbortSignal): Promise<void>;
}
