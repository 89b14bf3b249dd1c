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
  /** The slug of the tenant in which the operation runs. */
  tenantSlug: string;
  /** Its id if it is known, which saves a look-up by slug. */
  tenantId?: string;
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
  /** Details to add to those of the begun event. */
  meta?: Record<string, unknown>;
}

/**
 * The record of an operation that has begun.
 *
 * @public
 */
export interface TenantAuditRecord {
  /** Records how the operation ends, and resolves once the record is stored. */
  end(ended: EndedAuditEvent): Promise<void>;

  /**
   * A statement that an administrator's transaction sends with its commit: it stores the
   * success of the operation if the transaction has written anything. A later {@link
   * TenantAuditRecord.end} with the same content stores nothing.
   *
   * @param describe - the details that `end` will add
   */
  storeWith(
    describe: () => Promise<EndedAuditEvent['meta']>,
  ): TenantAuditStatement;
}

/**
 * The statement that stores an event with a change of the registry.
 *
 * @public
 */
export interface TenantAuditStatement extends LastStatement {
  /** Called with the row of a tenant that the transaction has, which saves a look-up by slug. */
  onTenant(tenant: { tenant_id: string; tenant_slug: string }): void;
}

/**
 * The audit trails of tenants: who did what, when, from where and with what outcome. It checks
 * no permissions.
 *
 * @public
 */
export interface TenantAuditTrail {
  /**
   * Records that an operation begins. Waits while the queue of events is full, such as when the
   * database is down.
   *
   * @throws `ServiceUnavailableError` if the queue stays full for 10 seconds
   */
  begin(event: BegunAuditEvent): Promise<TenantAuditRecord>;

  /**
   * A page of a tenant's trail, newest events first. Works for deleted tenants too.
   *
   * @throws `NotFoundError` if there is no such tenant; `InputError` for a malformed query
   */
  list(tenantSlug: string, query?: ListTenantAudit): Promise<TenantAuditPage>;

  /** Deletes the events that are older than `tenancy.audit.keepDays`, and returns how many. */
  deleteOld(signal?: AbortSignal): Promise<number>;

  /**
   * Sends all unsent events of all tenants to the configured webhook.
   *
   * @throws unless the webhook accepts all; the next call sends the others again
   */
  send(signal?: AbortSignal): Promise<void>;
}
