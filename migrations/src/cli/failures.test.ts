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

it.each([
  ['ECONNREFUSED', "at db.example.com:5433 can't be reached"],
  ['ENOTFOUND', 'host of the database, "db.example.com", is not known'],
  ['ETIMEDOUT', 'does not answer'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'is not trusted'],
  ['28P01', 'refused the password of user "owner"'],
  ['3D000', 'The database "catalog" does not exist on db.example.com:5433'],
  ['53300', 'has no connection left'],
])('says in one line what %s means', (code, expected) => {
  const failure = explainFailure(
    Object.assign(new Error('whatever'), { code }),
    connection,
  );
  expect(failure).toEqual({
    name: 'ConnectionError',
    message: expect.stringContaining(expected),
    exitCode: EXIT_CODES.unexpected,
  });
  expect(failure.message).not.toContain('\n');
});

it('looks into the failures of a host with several addresses', () => {
  const cause = Object.assign(new Error(), { code: 'ECONNREFUSED' });
  expect(
    explainFailure(new AggregateError([cause, cause]), connection).message,
  ).toContain("can't be reached");
});

it('says that a password is missing', () => {
  expect(
    explainFailure(
      new Error('SASL: SCRAM: client password must be a string'),
      connection,
    ).message,
  ).toContain('asks for the password of user "owner", and none was given');
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
