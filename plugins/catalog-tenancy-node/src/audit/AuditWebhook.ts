import { createHmac } from 'node:crypto';
import type { AuditWebhookConfig } from '../config/AuditConfig';

const TIMEOUT_MS = 10_000;

/** The webhook has answered, but not with 2xx. */
export class WebhookRefusal extends Error {}

/**
 * Posts events as JSON lines to the operator's webhook. Follows no redirect, so events reach
 * the configured host only.
 *
 * @returns a refusal unless the webhook answers with 2xx
 * @throws without an answer
 */
export async function postToWebhook(
  { url, secret }: AuditWebhookConfig,
  events: readonly object[],
  signal?: AbortSignal,
): Promise<WebhookRefusal | undefined> {
  const body = events.map(event => `${JSON.stringify(event)}\n`).join('');
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/jsonl',
      ...(secret && {
        'X-Tenancy-Signature': `sha256=${createHmac('sha256', secret)
          .update(body)
          .digest('hex')}`,
      }),
    },
    body,
    redirect: 'manual',
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  });
  await response.body?.cancel();
  return response.ok
    ? undefined
    : new WebhookRefusal(
        `The webhook of tenancy.audit.webhook.url answered with status ${response.status}`,
      );
}
