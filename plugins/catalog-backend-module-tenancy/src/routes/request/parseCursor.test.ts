import { InputError } from '@backstage/errors';
import { type EntityCursor } from '../../pages/EntityCursor';
import { parseCursor } from './parsePage';

const cursor: EntityCursor = {
  orderFields: [{ field: 'metadata.name', order: 'desc' }],
  isPrevious: false,
  query: { $all: [{ kind: 'component' }, { 'spec.type': { $exists: true } }] },
  fullTextFilter: { term: 'a', fields: ['metadata.title'] },
  orderFieldValues: ['b', '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11'],
  firstSortFieldValues: ['c', null],
  totalItems: 3,
};

const encode = (value: unknown) =>
  Buffer.from(
    typeof value === 'string' ? value : JSON.stringify(value),
  ).toString('base64');

describe('parseCursor', () => {
  it('takes nothing else out of it', () => {
    expect(
      parseCursor(encode({ ...cursor, tenantId: 'x', tenant: 'acme' })),
    ).toEqual(cursor);
  });

  it.each([
    ['', /^Malformed cursor: SyntaxError: /],
    ['no cursor', /^Malformed cursor: SyntaxError: /],
    [encode(null), /^Malformed cursor: InputError: Malformed cursor: \[/],
    [encode({}), /"path": \[\s*"orderFields"/],
    [
      encode({ ...cursor, orderFields: [{ field: 'a', order: 'up' }] }),
      /order/,
    ],
    [encode({ ...cursor, orderFieldValues: [1] }), /orderFieldValues/],
    [encode({ ...cursor, query: { $all: 'x' } }), /query/],
    [encode({ ...cursor, totalItems: 'many' }), /totalItems/],
    [
      encode(
        JSON.stringify(cursor).replace(
          '"component"',
          `${'{"$contains":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
        ),
      ),
      /nested deeper than 250 levels$/,
    ],
  ])('refuses %#', (text, message) => {
    expect(() => parseCursor(text)).toThrow(InputError);
    expect(() => parseCursor(text)).toThrow(message);
  });
});
