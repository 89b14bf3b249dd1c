import { describeFailure, withoutSecrets } from './failures';

const KEY = '-----BEGIN KEY-----\nfirst\nsecond\n-----END KEY-----';

describe('the failure of a module that quotes its configuration', () => {
  const said = (message: string) =>
    describeFailure(withoutSecrets(new Error(message), ['s3cret', KEY]));

  it.each([
    ['whole', 'no token s3cret', 'no token ***'],
    [
      'where the message is cut',
      `${'x'.repeat(497)}s3cret`,
      `${'x'.repeat(497)}***`,
    ],
    ['in several lines', `no key ${KEY}!`, 'no key ***!'],
    ['as JSON', JSON.stringify({ key: KEY }), '{"key":"***"}'],
    ['nowhere', 'no token', 'no token'],
  ])('has no secret in it, %s', (_, message, expected) => {
    expect(said(message)).toBe(expected);
  });
});
