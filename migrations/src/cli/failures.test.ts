import { DatabaseError } from 'pg';
import { EXIT_CODES, RefusedError } from '../errors';
import { explainFailure } from './failures';

const connection = {
  host: 'db.example.com',
  port: 5433,
  user: 'owner',
  password: 'hush-hush',
  database: 'catalog',
};

function databaseError(message: string, fields: object): DatabaseError {
  return Object.assign(new DatabaseError(message, 0, 'error'), fields);
}

it('keeps the exit code of a failure that was foreseen', () => {
  expect(explainFailure(new RefusedError('No.'), connection)).toEqual({
    name: 'RefusedError',
    message: 'No.',
    exitCode: EXIT_CODES.refused,
  });
});

const REFUSED = new Error('connect ECONNREFUSED 10.0.0.1:5433');

it.each([
  [REFUSED, 'connect ECONNREFUSED 10.0.0.1:5433'],
  // Of a host name with several addresses.
  [new AggregateError([REFUSED]), 'connect ECONNREFUSED 10.0.0.1:5433'],
  [new Error('timeout expired'), 'timeout expired'],
  [new Error('self-signed certificate'), 'self-signed certificate'],
  [
    databaseError('password authentication failed', { code: '28P01' }),
    'password authentication failed',
  ],
  [databaseError('no such database', { code: '3D000' }), 'no such database'],
])('says in one line where it can not connect to: %s', (error, reason) => {
  expect(explainFailure(error, connection)).toEqual({
    name: 'ConnectionError',
    message: `Can't connect to the database "catalog" at db.example.com:5433 as "owner": ${reason}.`,
    exitCode: EXIT_CODES.unexpected,
  });
});

it('shows what PostgreSQL says, with its code and hint', () => {
  const error = databaseError('permission denied for table t', {
    code: '42501',
    hint: 'Ask the owner.',
  });
  expect(explainFailure(error, connection).message).toBe(
    'PostgreSQL: permission denied for table t (SQLSTATE 42501)\nHint: Ask the owner.',
  );
});
