import type { AuditorService } from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import { holdAnswer } from './holdAnswer';

/**
 * Runs an operation inside an audit event, and closes the event with its outcome. An operation
 * that changes something, whose severity is not low, is answered once the event is closed.
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
  const { request, severityLevel = 'low' } = event;
  const release =
    request?.res && severityLevel !== 'low'
      ? holdAnswer(request.res)
      : () => undefined;
  try {
    let meta: JsonObject | void;
    try {
      meta = await operation();
    } catch (error) {
      await created.fail({ error: toError(error) });
      throw error;
    }
    await created.success(meta ? { meta } : undefined);
  } finally {
    release();
  }
}
