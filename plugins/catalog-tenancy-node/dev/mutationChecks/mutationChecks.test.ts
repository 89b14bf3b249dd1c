import { sampleOf } from '@internal/postgres/sample';
import { existsSync, readFileSync } from 'fs';
import { join } from 'path';
import { citusChecks } from './citusChecks';
import { mutationChecks } from './mutationChecks';

const REPOSITORY = join(__dirname, '..', '..', '..', '..');

describe.each([...new Set([...mutationChecks, ...citusChecks])])(
  'The mutation check of $name',
  ({ edits, tests }) => {
    it.each(edits)('finds what it breaks once in $file', ({ file, find }) => {
      const text = readFileSync(join(REPOSITORY, file), 'utf8');
      expect(text.split(find)).toHaveLength(2);
    });

    it.each(tests)('runs tests that are there: %s', path => {
      expect(existsSync(join(REPOSITORY, path))).toBe(true);
    });
  },
);

describe('A sample of the mutation checks', () => {
  const names = (seed: string) =>
    sampleOf(mutationChecks, 3, seed).map(({ name }) => name);
  const seeds = Array.from({ length: 300 }, (_, index) => `seed ${index}`);

  it('is the same for the same seed', () => {
    expect(new Set(names('a')).size).toBe(3);
    expect(names('a')).toEqual(names('a'));
  });

  it('has each of them for some seed', () => {
    const sampled = new Set(seeds.flatMap(names));
    expect(sampled.size).toBe(mutationChecks.length);
  });

  it('has all of them where there are no more', () => {
    expect(sampleOf(mutationChecks, 1000, 'a')).toHaveLength(
      mutationChecks.length,
    );
  });
});
