import { parseOptions } from './options';

const parse = (...args: string[]) => parseOptions(args, ['mockup', 'other']);

describe('parseOptions', () => {
  it('runs everything in full by default', () => {
    expect(parse()).toEqual({
      names: [],
      json: false,
      settings: { short: false, rounds: 20, seconds: 1, concurrency: 8 },
    });
  });

  it('lets single settings of a short run be changed', () => {
    expect(parse('mockup', '--short', '--rounds', '1', '--json')).toEqual({
      names: ['mockup'],
      json: true,
      settings: { short: true, rounds: 1, seconds: 0.2, concurrency: 8 },
    });
  });
});
