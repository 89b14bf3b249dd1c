import { InputError } from '@backstage/errors';
import { parseOrder } from './parseOrder';

describe('parseOrder', () => {
  it('reads orders, the one that counts most first', () => {
    expect(parseOrder(['asc:kind', 'desc:metadata.annotations.a:b'])).toEqual([
      { order: 'asc', field: 'kind' },
      { order: 'desc', field: 'metadata.annotations.a:b' },
    ]);
    expect(parseOrder(undefined)).toBeUndefined();
  });

  it.each(['kind', 'asc:', 'up:kind', 'kind,asc'])('refuses %j', text => {
    expect(() => parseOrder([text])).toThrow(
      new InputError(
        `Invalid order parameter "${text}", expected "<asc or desc>:<field name>"`,
      ),
    );
  });
});
