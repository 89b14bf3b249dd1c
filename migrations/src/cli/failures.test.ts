import { DatabaseError } from 'pg';
import { EXIT_CODES, RefusedError } from '../errors';
import { explainFailure } from './failures';

it('keeps the exit code of a failure that was foreseen', () => {
  expect(explainFailure(new RefusedError('No.'))).toEqual({
    name: 'RefusedError',
    message: 'No.',
    exitCode: EXIT_CODES.refused,
  });
});

it('shows what PostgreSQL says, with its code and hint', () => {
  const error = Object.assign(
    new DatabaseError('permission denied for table t', 0, 'error'),
    { code: '42501', hint: 'Ask the owner.' },
  );
  expect(explainFailure(error).message).toBe(
    'PostgreSQL: permission denied for table t (SQLSTATE 42501)\nHint: Ask the owner.',
  );
});
