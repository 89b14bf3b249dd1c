import { DatabaseError } from 'pg';
import { mockLogger } from '../__testUtils__/serviceMocks';
import { DatabaseUnavailableError, toCallerError } from './errors';
import type { DatabaseStatementError } from './errors';

/** What callers get for an error of PostgreSQL. */
function callerError(error: Partial<DatabaseError> & { message: string }) {
  return toCallerError(
    {
      error: Object.assign(
        new DatabaseError(error.message, 1, 'error'),
        error,
      ) as DatabaseError,
      phase: 'commit',
      lost: false,
      outcomeUnknown: false,
      onlyReads: false,
    },
    { schema: 'tenancy', logger: mockLogger() },
  ) as DatabaseStatementError;
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

  it('asks for another try where the rows of a tenant were moved meanwhile', () => {
    const moved = callerError({
      code: 'XX000',
      message: 'could not find valid entry for shard 102008',
    });
    expect(moved).toMatchObject({
      name: 'ServiceUnavailableError',
      outcomeUnknown: false,
    });
    expect(moved.message).not.toContain('102008');
    expect(
      callerError({ code: 'XX000', message: 'cache lookup failed' }),
    ).not.toBeInstanceOf(DatabaseUnavailableError);
  });

  it('leaves open whether a change was made whose node Citus lost as it committed', () => {
    expect(
      callerError({
        code: 'XX000',
        message:
          'could not commit transaction for shard 102008 on at least one active node',
      }),
    ).toMatchObject({
      name: 'ServiceUnavailableError',
      outcomeUnknown: true,
    });
  });
});
