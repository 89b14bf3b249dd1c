import { InputError } from '@backstage/errors';
import { parsePagination, stringifyNextPage } from './parseList';

const encode = (value: unknown) =>
  Buffer.from(JSON.stringify(value)).toString('base64');

describe('parsePagination', () => {
  it('gives nothing where all entities are asked for', () => {
    expect(parsePagination({})).toBeUndefined();
  });

  it('reads limit and offset', () => {
    expect(parsePagination({ limit: 2 })).toEqual({ limit: 2 });
    expect(parsePagination({ limit: 2, offset: 0 })).toEqual({
      limit: 2,
      offset: 0,
    });
  });

  it('goes on where the page before ended', () => {
    const after = stringifyNextPage({ limit: 2, offset: 4 });
    expect(parsePagination({ after })).toEqual({ limit: 2, offset: 6 });
    expect(parsePagination({ after, limit: 7, offset: 7 })).toEqual({
      limit: 2,
      offset: 6,
    });
    expect(parsePagination({ after: stringifyNextPage({ limit: 2 }) })).toEqual(
      { limit: 2, offset: 2 },
    );
  });

  it.each([
    [{ limit: 0 }, 'Invalid limit, must be greater than zero'],
    [{ after: 'x' }, 'Malformed after cursor, could not be parsed'],
    ...[0, -1, 1.5, '1', null, {}].map(limit => [
      { after: encode({ limit }) },
      'Malformed after cursor, limit was not an integer of 1 or more',
    ]),
    ...[-1, 1.5, '1', null].map(offset => [
      { after: encode({ limit: 1, offset }) },
      'Malformed after cursor, offset was not an integer of 0 or more',
    ]),
  ] as Array<[Parameters<typeof parsePagination>[0], string]>)(
    'refuses %j',
    (query, message) => {
      expect(() => parsePagination(query)).toThrow(new InputError(message));
    },
  );

  it('survives a cursor that is no object', () => {
    expect(parsePagination({ limit: 3, after: encode(null) })).toEqual({
      limit: 3,
    });
  });
});
