import { parseOptions } from './options';

const parse = (...args: string[]) => parseOptions(args, ['scope', 'other']);

it('runs everything in short by default', () => {
  expect(parse()).toEqual({
    names: [],
    json: false,
    settings: { short: true, seconds: 0.2, concurrency: 8, rttMs: 0 },
  });
});

it.each([
  ['what is named', ['scope']],
  ['everything, if asked for', ['--no-short']],
])('runs %s in full', (_, args) => {
  expect(parse(...args).settings).toEqual({
    short: false,
    seconds: 1,
    concurrency: 8,
    rttMs: 0,
  });
});

it('changes single settings of a short run', () => {
  expect(parse('scope', '--short', '--rounds', '1', '--json')).toMatchObject({
    names: ['scope'],
    json: true,
    settings: { short: true, rounds: 1, seconds: 0.2, concurrency: 8 },
  });
});
