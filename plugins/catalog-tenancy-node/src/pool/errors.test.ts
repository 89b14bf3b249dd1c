import { DatabaseError } from 'pg';
import { mockLogger } from '../__testUtils__/serviceMocks';
import { DatabaseStatementError, toCallerError } from './errors';

/** What callers get for an error of PostgreSQL. */
function callerError(error: Partial<DatabaseError> & { message: string }) {
  return toCallerError({
    outcome: {
      error: Object.assign(
        new DatabaseError(error.message, 1, 'error'),
        error,
      ) as DatabaseError,
      results: [],
      failedAt: 1,
      lost: false,
      sent: true,
      inTransaction: false,
    },
    committing: false,
    failedToEnter: false,
    schema: 'tenancy',
    logger: mockLogger(),
  }) as DatabaseStatementError;
}

describe('toCallerError', () => {
  it('names tables and constraints without the number of a shard of Citus', () => {
    expect(
      callerError({
        code: '42501',
        message: 'permission denied for table entities_102008',
      }).message,
    ).toBe('permission denied for table entities');
    expect(
      callerError({
        code: '23505',
        message: 'duplicate key value',
        constraint: 'entities_tenant_id_entity_ref_key_102008',
      }).constraint,
    ).toBe('entities_tenant_id_entity_ref_key');
  });
});
