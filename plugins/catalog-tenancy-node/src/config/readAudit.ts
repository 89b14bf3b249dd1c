import type { TenantAuditEvent } from 'backstage-plugin-tenants-common';
import type { readers } from './values';

/** The severities of Backstage's auditor, the lowest first. */
const AUDIT_SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;

/**
 * Where the events of audit trails are sent.
 *
 * @public
 */
export interface AuditWebhookConfig {
  /** The address of the webhook. */
  url: string;
  /** The key of the HMAC signature of each request. */
  secret?: string;
}

/**
 * What the audit trails of tenants keep.
 *
 * @public
 */
export interface AuditConfig {
  /** How many days events are kept; 90 by default. */
  keepDays: number;
  /** Events of a lower severity are not stored; `medium` by default, which leaves out reads. */
  minSeverity: TenantAuditEvent['severity'];
  /** Gets the events of all tenants. */
  webhook?: AuditWebhookConfig;
}

export function readAudit(read: ReturnType<typeof readers>): AuditConfig {
  const key = 'tenancy.audit';
  read.object(key);
  read.object(`${key}.webhook`);
  const url = read.url(`${key}.webhook.url`);
  const secret = read.secret(`${key}.webhook.secret`);
  return {
    keepDays: read.integer(`${key}.keepDays`, { min: 1, max: 3_650 }) ?? 90,
    minSeverity: read.oneOf(`${key}.minSeverity`, AUDIT_SEVERITIES) ?? 'medium',
    webhook: url === undefined ? undefined : { url, secret },
  };
}
