import { judgeLookup } from './entityLookup';

describe('judgeLookup', () => {
  it.each([
    [0.123, false],
    [50, false],
    [50.01, true],
  ])('judges %d ms', (milliseconds, slow) => {
    expect(judgeLookup(milliseconds)).toEqual({
      slow,
      message: expect.stringMatching(slow ? /analyze entities/ : /20 ms\)\.$/),
    });
  });
});
