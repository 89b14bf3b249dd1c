import type {
  AuditorService,
  AuditorServiceCreateEventOptions,
  LoggerService,
} from '@backstage/backend-plugin-api';
import type { JsonObject } from '@backstage/types';

// Like those of `mockServices` in `@backstage/backend-test-utils`. That package loads a whole
// backend, which takes each test file half a second.

/** A logger whose calls a test can look at. */
export function mockLogger(
  implementation: Partial<LoggerService> = {},
): jest.Mocked<LoggerService> {
  const { debug, error, info, warn } = implementation;
  return {
    debug: jest.fn(debug),
    error: jest.fn(error),
    info: jest.fn(info),
    warn: jest.fn(warn),
    child: jest.fn<LoggerService, [meta: JsonObject]>(() => mockLogger()),
  };
}

/** An auditor whose events a test can look at. */
export function mockAuditor(): jest.Mocked<AuditorService> {
  return {
    createEvent: jest.fn(
      async (_options: AuditorServiceCreateEventOptions) => ({
        success: jest.fn(async () => {}),
        fail: jest.fn(async () => {}),
      }),
    ),
  };
}
