import { parseOptions, settingsOf } from './options';

const parse = (...args: string[]) => parseOptions(args, ['scope', 'other']);

describe('parseOptions', () => {
  it('runs everything in short by default', () => {
    expect(parse()).toEqual({
      names: [],
      json: false,
      roundsGiven: false,
      settings: {
        short: true,
        rounds: 5,
        seconds: 0.2,
        concurrency: 8,
        rttMs: 0,
      },
    });
  });

  it.each([
    ['what is named', ['scope']],
    ['everything, if asked for', ['--no-short']],
  ])('runs %s in full', (_, args) => {
    expect(parse(...args).settings).toEqual({
      short: false,
      rounds: 20,
      seconds: 1,
      concurrency: 8,
      rttMs: 0,
    });
  });

  it('lets single settings of a short run be changed', () => {
    expect(parse('scope', '--short', '--rounds', '1', '--json')).toMatchObject({
      names: ['scope'],
      json: true,
      roundsGiven: true,
      settings: { short: true, rounds: 1, seconds: 0.2, concurrency: 8 },
    });
  });
});

describe('settingsOf', () => {
  const slow = { rounds: { full: 3, short: 2 } };

  it.each([
    ['its own number of rounds in full', ['scope'], 3],
    ['its own number of rounds in short', ['--short'], 2],
    ['the number that was asked for', ['--rounds', '7'], 7],
  ])('gives a benchmark %s', (_, args, rounds) => {
    expect(settingsOf(slow, parse(...args)).rounds).toBe(rounds);
  });

  it('gives a benchmark the usual number if it has none of its own', () => {
    const options = parse();
    expect(settingsOf({}, options)).toEqual(options.settings);
  });
});
