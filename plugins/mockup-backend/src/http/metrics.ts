import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import type { RequestHandler } from 'express';

/**
 * Makes middleware that counts and times the operations of the plugin by name
 * and outcome. It reads the outcome from the response, because the error middleware
 * runs after the handler.
 */
export function measureOperations(
  metrics: MetricsService,
): (operation: string) => RequestHandler {
  const count = metrics.createCounter('mockup.operations.count', {
    description: 'Operations of the mockup plugin, by operation and outcome',
    unit: '{operation}',
  });
  const duration = metrics.createHistogram('mockup.operations.duration', {
    description: 'How long operations of the mockup plugin took',
    unit: 's',
  });

  return operation => (_req, res, next) => {
    const start = process.hrtime.bigint();
    res.once('close', () => {
      const attributes = {
        operation,
        outcome: res.writableFinished ? outcomeOf(res.statusCode) : 'aborted',
      };
      count.add(1, attributes);
      duration.record(
        Number(process.hrtime.bigint() - start) / 1e9,
        attributes,
      );
    });
    next();
  };
}

function outcomeOf(statusCode: number): string {
  switch (statusCode) {
    case 401:
    case 403:
      return 'denied';
    case 404:
      return 'not_found';
    case 412:
      return 'conflict';
    default:
      break;
  }
  if (statusCode < 400) {
    return 'success';
  }
  return statusCode < 500 ? 'invalid' : 'error';
}
