import { expectSame, toReply, WrongAnswerError } from './Reply';

const refusal = (
  error: object,
  { retryAfter = '1' }: { retryAfter?: string } = {},
) => ({ status: 503, retryAfter, body: JSON.stringify({ error }) });

describe('an answer', () => {
  it.each([200, 201])('with %i is one', status => {
    expect(toReply({ status, body: '{"a":1}' })).toEqual({
      answered: true,
      status,
      body: { a: 1 },
    });
  });

  it('with another status is one only where that may be', () => {
    const answer = { status: 404, body: '{}' };
    expect(toReply(answer, [404])).toMatchObject({ answered: true });
    expect(() => toReply(answer)).toThrow(WrongAnswerError);
  });
});

describe('a refusal', () => {
  it('says whether a change may have been made', () => {
    expect(toReply(refusal({}))).toEqual({
      answered: false,
      status: 503,
      outcomeUnknown: false,
    });
    expect(toReply(refusal({ outcomeUnknown: true }))).toMatchObject({
      outcomeUnknown: true,
    });
  });

  it.each([
    ['says nothing about when to try again', { status: 503, body: '{}' }],
    ['tells to try again at once', refusal({}, { retryAfter: '0' })],
    ['has another status', { ...refusal({}), status: 500 }],
    ['tells a statement', refusal({ message: 'select * from entities' })],
    ['tells an address', refusal({ message: 'connect 127.0.0.1:5432' })],
    ['tells a database user', refusal({ message: 'role "portal_app"' })],
    ['tells where it happened', refusal({ stack: 'at node_modules/pg' })],
  ])('that %s is a wrong answer', (_, answer) => {
    expect(() => toReply(answer)).toThrow(WrongAnswerError);
  });
});

it('takes what differs for wrong', () => {
  expect(() => expectSame('A', { a: [1] }, { a: [1] })).not.toThrow();
  expect(() => expectSame('A', { a: [1] }, { a: [1, 2] })).toThrow(
    'A is {"a":[1]}, where {"a":[1,2]} is right',
  );
  expect(() => expectSame('A', undefined, 1)).toThrow(WrongAnswerError);
});
