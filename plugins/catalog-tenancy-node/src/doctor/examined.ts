import type { LoggerService } from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import type { DoctorFinding } from 'backstage-catalog-tenancy-migrations';
import { TenancyStartupError } from '../startup/TenancyStartupError';

/**
 * Runs a startup check for the command `doctor`: a logged warning becomes a warning, a thrown
 * error a failure. It never rejects.
 *
 * @param options - `ok`: the message if the check finds nothing and returns no text
 * @public
 */
export async function examined(
  subject: string,
  options: {
    ok: string;
    check: (logger: LoggerService) => unknown;
  },
): Promise<DoctorFinding[]> {
  const warnings: string[] = [];
  let said: unknown;
  try {
    said = await options.check(recordingLogger(warnings));
  } catch (error) {
    return [
      ...toFindings(subject, 'warning', warnings),
      { subject, level: levelOf(error), message: messageOf(error) },
    ];
  }
  return warnings.length > 0
    ? toFindings(subject, 'warning', warnings)
    : [
        {
          subject,
          level: 'ok',
          message: typeof said === 'string' ? said : options.ok,
        },
      ];
}

function toFindings(
  subject: string,
  level: DoctorFinding['level'],
  messages: string[],
): DoctorFinding[] {
  return messages.map(message => ({ subject, level, message }));
}

/** If the database is unreachable, the result of the check is unknown. */
function levelOf(error: unknown): 'unknown' | 'failure' {
  const isAway =
    error instanceof ServiceUnavailableError ||
    (error instanceof TenancyStartupError && error.reason === 'database-away');
  return isAway ? 'unknown' : 'failure';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A logger that records warnings only. */
export function recordingLogger(warnings: string[]): LoggerService {
  const silent = () => undefined;
  const logger: LoggerService = {
    error: silent,
    warn: message => {
      warnings.push(message);
    },
    info: silent,
    debug: silent,
    child: () => logger,
  };
  return logger;
}
