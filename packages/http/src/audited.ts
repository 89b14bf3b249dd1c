import type {
  AuditorService,
  AuditorServiceEvent,
} from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import { holdAnswer } from './holdAnswer';

/**
 * Runs an operation inside an audit event, and closes the event with its outcome. An operation
 * that changes something, whose severity is not low, is answered once the event is closed.
 *
 * @param operation - returns what the event records beside `event.meta`
 * @param describeFailure - what the event records of an error
 * @throws what the operation rejects with
 */
export async function audited(
  auditor: AuditorService,
  event: Parameters<AuditorService['createEvent']>[0],
  operation: (created: AuditorServiceEvent) => Promise<JsonObject | void>,
  describeFailure: (
    error: unknown,
  ) => Promise<{ error: Error; meta?: JsonObject }> = async error => ({
    error: toError(error),
  }),
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
      meta = await operation(created);
    } catch (error) {
      await created.fail(await describeFailure(error));
      throw error;
    }
    await created.success(meta ? { meta } : undefined);
  } finally {
    release();
  }
}
