import { ratiosOf, spreadOf } from './statistics';

describe('spreadOf', () => {
  it('takes the middle one of an odd number of values', () => {
    expect(spreadOf([9, 1, 5])).toEqual({ median: 5, min: 1, max: 9 });
  });

  it('takes the mean of the middle two of an even number of values', () => {
    expect(spreadOf([4, 10, 1, 2])).toEqual({ median: 3, min: 1, max: 10 });
  });

  it('compares numbers and not their texts', () => {
    expect(spreadOf([10, 9, 100]).median).toBe(10);
  });

  it('takes a single value for all three', () => {
    expect(spreadOf([7])).toEqual({ median: 7, min: 7, max: 7 });
  });

  it('leaves the values as they were', () => {
    const values = [3, 1, 2];
    spreadOf(values);
    expect(values).toEqual([3, 1, 2]);
  });

  it('refuses to make something of nothing', () => {
    expect(() => spreadOf([])).toThrow('no values');
  });
});

describe('ratiosOf', () => {
  it('divides within pairs', () => {
    expect(ratiosOf([50, 90, 20], [100, 100, 10])).toEqual([0.5, 0.9, 2]);
  });

  it('refuses values without a partner', () => {
    expect(() => ratiosOf([1, 2], [1])).toThrow('Each measurement');
  });
});
