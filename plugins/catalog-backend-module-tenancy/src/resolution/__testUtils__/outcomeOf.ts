import { TENANT_IDS } from './InMemoryTenants';
import type { Answer } from './send';

/** The outcome of a request without an active tenant, to the byte. */
export const REFUSED = '403 {"error":"Invalid tenant"}';

/**
 * What became of a request, in a form to compare: the slug of the tenant whose
 * catalog has answered, or the status and the body.
 */
export function outcomeOf(answer: Answer): string {
  const { status, headers, text } = answer;
  if (!/^application\/json(;|$)/.test(headers['content-type'])) {
    return `${status} ${headers['content-type']}`;
  }
  if (status !== 200) {
    return `${status} ${text}`;
  }
  const { tenantId, tenantSlug } = JSON.parse(text);
  return TENANT_IDS[tenantSlug] === tenantId
    ? tenantSlug
    : `${tenantSlug} with the id ${tenantId}`;
}
