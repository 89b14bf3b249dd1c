import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import type { RequestHandler } from 'express';

const OUTCOMES: Readonly<Record<number, string>> = {
  401: 'denied',
  403: 'denied',
  404: 'not_found',
};

/**
 * Makes middleware that counts and times the operations of a plugin by name and
 * outcome. It reads the outcome from the response, because the error middleware runs
 * after the handler.
 *
 * @param options.prefix - of the metrics, such as `mockup.operations`
 * @param options.operations - how their descriptions call the operations
 * @param options.outcomes - what statuses mean beside those that mean the same anywhere
 */
export function measureOperations(
  metrics: MetricsService,
  options: {
    prefix: string;
    operations: string;
    outcomes: Readonly<Record<number, string>>;
  },
): (operation: string) => RequestHandler {
  const { prefix, operations } = options;
  const outcomes = { ...OUTCOMES, ...options.outcomes };
  const count = metrics.createCounter(`${prefix}.count`, {
    description: `${operations}, by operation and outcome`,
    unit: '{operation}',
  });
  const duration = metrics.createHistogram(`${prefix}.duration`, {
    description: `How long ${operations[0].toLowerCase()}${operations.slice(
      1,
    )} took`,
    unit: 's',
  });
  const outcomeOf = (status: number) => {
    if (status < 400) {
      return 'success';
    }
    return outcomes[status] ?? (status < 500 ? 'invalid' : 'error');
  };

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
