import { InputError } from '@backstage/errors';
import { encodeCursor } from '../../pages/EntityCursor';
import { parsePageParameters } from './parsePage';

const cursor = {
  orderFields: [],
  isPrevious: false,
  orderFieldValues: ['7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11'],
};

describe('parsePageParameters', () => {
  it('asks for the first page of all entities by itself', () => {
    expect(parsePageParameters({})).toEqual({
      page: { fullTextFilter: { term: '' }, countItems: true },
    });
  });

  it('reads what is asked for', () => {
    const { page, projection } = parsePageParameters({
      fields: 'kind,metadata.name',
      limit: '5',
      offset: '10',
      orderField: ['metadata.name,desc', 'kind'],
      filter: ['kind=api', 'kind=component'],
      totalItems: 'exclude',
      fullTextFilterTerm: 'a,b',
      fullTextFilterFields: 'metadata.name,metadata.title',
    });
    expect(page).toEqual({
      limit: 5,
      offset: 10,
      orderFields: [
        { field: 'metadata.name', order: 'desc' },
        { field: 'kind' },
      ],
      query: { $any: [{ kind: 'api' }, { kind: 'component' }] },
      countItems: false,
      fullTextFilter: {
        term: 'a,b',
        fields: ['metadata.name', 'metadata.title'],
      },
    });
    expect(projection).toBeDefined();
  });

  it('takes all but the limit and the fields from a cursor', () => {
    const { page } = parsePageParameters({
      cursor: encodeCursor(cursor),
      limit: '5',
      offset: '10',
      filter: 'kind=api',
    });
    expect(page).toEqual({ cursor, limit: 5 });
  });

  it.each([
    [
      { orderField: 'kind,up' },
      'Invalid order field order, must be asc or desc',
    ],
    [{ cursor: '' }, "Empty value found for query parameter 'cursor'"],
    [{ cursor: 'x' }, /^Malformed cursor/],
    [{ query: 'kind' }, "Unknown query parameter 'query'"],
    [{ fields: 'a[0]', cursor: 'x' }, /^Invalid field "a\[0\]"/],
    [
      { totalItems: 'some' },
      'request/query/totalItems must be equal to one of the allowed values: include, exclude',
    ],
  ])('refuses %j', (query, message) => {
    expect(() => parsePageParameters(query)).toThrow(InputError);
    expect(() => parsePageParameters(query)).toThrow(message);
  });
});
