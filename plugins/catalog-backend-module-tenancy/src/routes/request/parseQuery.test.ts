import { InputError } from '@backstage/errors';
import { parseQuery } from './parseQuery';

const schema = {
  text: 'string',
  count: 'integer',
  many: 'strings',
  list: 'commaSeparated',
  choice: ['one', 'other'],
} as const;

describe('parseQuery', () => {
  it('reads parameters by their types', () => {
    expect(
      parseQuery(
        { text: 'a,b', count: '20', many: 'a,b', list: 'a,b' },
        schema,
      ),
    ).toEqual({ text: 'a,b', count: 20, many: ['a,b'], list: ['a', 'b'] });
    expect(
      parseQuery({ many: ['a', 'b,c'], list: ['a', 'b,c'] }, schema),
    ).toEqual({ many: ['a', 'b,c'], list: ['a', 'b,c'] });
    expect(parseQuery({ choice: 'other' }, schema)).toEqual({
      choice: 'other',
    });
    expect(parseQuery({}, schema)).toEqual({});
  });

  it.each([
    [{ other: 'x' }, "Unknown query parameter 'other'"],
    [{ toString: 'x' }, "Unknown query parameter 'toString'"],
    [{ text: '' }, "Empty value found for query parameter 'text'"],
    [{ many: '' }, "Empty value found for query parameter 'many'"],
    [{ text: ['a', 'b'] }, 'request/query/text must be string'],
    [{ text: { a: 'b' } }, 'request/query/text must be string'],
    [{ many: { a: 'b' } }, 'request/query/many/0 must be string'],
    [{ many: ['a', { a: 'b' }] }, 'request/query/many/1 must be string'],
    [{ list: { a: 'b' } }, 'request/query/list must be array'],
    [{ list: ['a', { a: 'b' }] }, 'request/query/list/1 must be string'],
    [
      { choice: 'none' },
      'request/query/choice must be equal to one of the allowed values: one, other',
    ],
    [{ choice: ['one', 'one'] }, 'request/query/choice must be string'],
    [{ count: 'abc' }, 'request/query/count must be integer'],
    [{ count: '1.5' }, 'request/query/count must be integer'],
    [{ count: ' ' }, 'request/query/count must be integer'],
    [{ count: 'Infinity' }, 'request/query/count must be integer'],
    [{ count: '1e300' }, 'request/query/count must be integer'],
    [{ count: ['1', '2'] }, 'request/query/count must be integer'],
    [{ count: '-1' }, 'request/query/count must be >= 0'],
  ])('refuses %j', (query, message) => {
    expect(() => parseQuery(query, schema)).toThrow(new InputError(message));
  });

  it('names what is missing', () => {
    expect(() => parseQuery({}, schema, { required: ['many'] })).toThrow(
      new InputError("request/query must have required property 'many'"),
    );
  });
});
