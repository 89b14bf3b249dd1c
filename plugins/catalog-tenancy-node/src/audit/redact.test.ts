import { redactMeta, redactText } from './redact';

describe('redactText', () => {
  // As the header `User-Agent` of any request may be. In cubic time this took minutes.
  it.each([';key', '?', 'eyJ-', '://a:', 'Bearer ', '-----BEGIN '])(
    'takes no cubic time, whatever has %p again and again',
    async part => {
      const text = part.repeat(16_000 / part.length);
      for (let time = 0; time < 500; time += 1) {
        expect(redactText(text)).toBe(`${text.slice(0, 1_000)}…`);
        await new Promise(setImmediate);
      }
    },
  );

  it.each([
    ['/x?access_token=hidden&b=1', '/x?access_token=[removed]&b=1'],
    ['/x?a=1;apiKey=hidden', '/x?a=1;apiKey=[removed]'],
    [
      '/x?a?X-Amz-Security-Token=hidden b',
      '/x?a?X-Amz-Security-Token=[removed] b',
    ],
    ['/x?a=1&b=2', '/x?a=1&b=2'],
    ['a eyJhbGciOiJub25lIn0.eyJhIjoxfQ.c2ln b', 'a [removed] b'],
    ['Basic hidden-long-enough', 'Basic [removed]'],
    ['a glpat-hidden-long-enough b', 'a [removed] b'],
    [
      'a -----BEGIN PRIVATE KEY-----\nhidden\n-----END PRIVATE KEY----- b',
      'a [removed] b',
    ],
  ])('removes secrets: %s', (text, redacted) => {
    expect(redactText(text)).toBe(redacted);
  });
});

it('leaves out details that are too long together', () => {
  const list = Array(9).fill('x'.repeat(999));
  expect(redactMeta({ list })).toEqual({
    left_out: 'The details are too long',
  });
});
