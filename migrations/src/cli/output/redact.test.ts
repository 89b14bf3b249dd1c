import { redact } from './redact';

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

it('leaves the words alone in which a very short secret occurs', () => {
  expect(redact('a password', ['a'])).toBe('a password');
});
