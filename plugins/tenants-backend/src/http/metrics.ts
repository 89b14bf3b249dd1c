import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import type { RequestHandler } from 'express';

/**
 * Makes middleware that counts and times operations by name and outcome. It reads
 * the outcome from the response, because the error middleware runs after the
 * handler.
 */
export function measureOperations(
  metrics: MetricsService,
): (operation: string) => RequestHandler {
  const count = metrics.createCounter('tenants.operations.count', {
    description: 'Operations on the registry of tenants, by outcome',
    unit: '{operation}',
  });
  const duration = metrics.createHistogram('tenants.operations.duration', {
    description: 'How long operations on the registry of tenants took',
    unit: 's',
  });

  return operation => (_req, res, next) => {
    const start = process.hrtime.bigint();
    res.once('close', () => {
      const outcome = res.writableFinished
        ? outcomeOf(res.statusCode)
        : 'aborted';
      const seconds = Number(process.hrtime.bigint() - start) / 1e9;
      count.add(1, { operation, outcome });
      duration.record(seconds, { operation, outcome });
    });
    next();
  };
}

const OUTCOMES: Record<number, string> = {
  401: 'denied',
  403: 'denied',
  404: 'not_found',
  409: 'conflict',
};

function outcomeOf(statusCode: number): string {
  if (statusCode < 400) {
    return 'success';
  }
  return OUTCOMES[statusCode] ?? (statusCode < 500 ? 'invalid' : 'error');
}
