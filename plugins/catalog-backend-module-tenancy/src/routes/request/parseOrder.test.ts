import { InputError } from '@backstage/errors';
import { parseOrder } from './parseList';

describe('parseOrder', () => {
  it.each(['kind', 'asc:', 'up:kind', 'kind,asc', 'asc:$not'])(
    'refuses %j',
    text => {
      expect(() => parseOrder([text])).toThrow(
        new InputError(
          `Invalid order parameter "${text}", expected "<asc or desc>:<field name>"`,
        ),
      );
    },
  );

  it('takes ten, and no more, each of which makes the database look again', () => {
    const orders = Array.from({ length: 11 }, (_, index) => `asc:a${index}`);
    expect(parseOrder(orders.slice(1))).toHaveLength(10);
    expect(() => parseOrder(orders)).toThrow(
      new InputError('Invalid order parameters, expected at most 10, got 11'),
    );
  });
});
