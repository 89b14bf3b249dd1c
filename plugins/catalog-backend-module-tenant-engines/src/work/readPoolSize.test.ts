import { ConfigReader } from '@backstage/config';
import { readPoolSize } from './readPoolSize';

const KEY = 'tenancy.engines.pool';

const read = (pool: object) =>
  readPoolSize(
    new ConfigReader({ tenancy: { engines: { pool: { ...pool } } } }),
    KEY,
    20,
  );

describe('the size of the pool of engines', () => {
  it('is what is configured, or the default', () => {
    expect(read({})).toEqual({ max: 20, maxPerTenant: undefined });
    expect(read({ max: 4, maxPerTenant: 4 })).toEqual({
      max: 4,
      maxPerTenant: 4,
    });
  });

  it.each([
    [{ max: 0 }, `${KEY}.max is 0. Expected an integer from 1.`],
    [{ max: 1.5 }, `${KEY}.max is 1.5. Expected an integer from 1.`],
    [
      { maxPerTenant: 0 },
      `${KEY}.maxPerTenant is 0. Expected an integer from 1 to 20, the sessions of the pool.`,
    ],
    [
      { max: 4, maxPerTenant: 5 },
      `${KEY}.maxPerTenant is 5. Expected an integer from 1 to 4, the sessions of the pool.`,
    ],
  ])('is not %j', (pool, message) => {
    expect(() => read(pool)).toThrow(message);
  });
});
