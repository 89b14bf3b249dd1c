import { redact } from './output';

it.each([
  ['postgresql://user:hush@host/db', 'postgresql://***@host/db'],
  ['postgres://user:h@u@sh@host/db', 'postgres://***@host/db'],
  ['--ur1=postgres://u:hush@h/d.', '--ur1=postgres://***@h/d.'],
  ['user=u password=hush host=h', 'user=u password=*** host=h'],
  [
    'host=h&password=hush&sslmode=require',
    'host=h&password=***&sslmode=require',
  ],
])('%s is shown as %s', (text, expected) => {
  expect(redact(text)).toBe(expected);
});

it('conceals what is known to be secret, also percent-encoded', () => {
  expect(redact('it was s3cr/t, or s3cr%2Ft', ['s3cr/t'])).toBe(
    'it was ***, or ***',
  );
});

it.each([
  ['portal', 'create role portal_admin; grant portal_admin to portal_app'],
  ['admin', 'create role portal_admin nologin bypassrls'],
  ['entities', 'permission denied for table entities (SQLSTATE 42501)'],
  ['postgres', 'as user "postgres" at postgres:5432'],
  ['0000', 'the tenant 00000000-0000-0000-0000-000000000001'],
])('leaves names, numbers and words alone that hold "%s"', (secret, text) => {
  expect(redact(text, [secret])).toBe(text);
});

it.each([
  ['portal', 'pass=portal', 'pass=***'],
  ['portal', 'PGPASSWORD="portal"', 'PGPASSWORD=***'],
  ['hush1', 'said hush1, and "hush1"', 'said ***, and "***"'],
  ['hush!', 'said hush!, and "hush!"', 'said ***, and "***"'],
])('conceals "%s" where it stands as a value', (secret, text, expected) => {
  expect(redact(text, [secret])).toBe(expected);
});

it('leaves the words alone in which a very short secret occurs', () => {
  expect(redact('a password', ['a'])).toBe('a password');
});
