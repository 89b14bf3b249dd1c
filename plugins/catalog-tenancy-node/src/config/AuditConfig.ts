import type { TenantAuditEvent } from 'backstage-plugin-tenants-common';
import { configKeys } from './parseConfig';
import { filledText, configInteger, oneOf, url } from './values';

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

export const AUDIT = configKeys({
  keepDays: configInteger(1, 3_650).default(90),
  minSeverity: oneOf(AUDIT_SEVERITIES).default('medium'),
  webhook: configKeys({ url: url.optional(), secret: filledText.optional() })
    // Placeholders of the environment that were left empty.
    .transform(({ url: address, secret }) =>
      address === undefined ? undefined : { url: address, secret },
    )
    .optional(),
}).prefault({});
