import type { AuditorService } from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';

/**
 * Runs an operation inside an audit event, and closes the event with its outcome.
 *
 * @param operation - returns what the event records beside `event.meta`
 * @throws what the operation rejects with
 */
export async function audited(
  auditor: AuditorService,
  event: Parameters<AuditorService['createEvent']>[0],
  operation: () => Promise<JsonObject | void>,
): Promise<void> {
  const created = await auditor.createEvent(event);
  let meta: JsonObject | void;
  try {
    meta = await operation();
  } catch (error) {
    await created.fail({ error: toError(error) });
    throw error;
  }
  await created.success(meta ? { meta } : undefined);
}
