import { sampleOf } from '@internal/postgres/sample';
import { existsSync, readFileSync } from 'fs';
import { join } from 'path';
import { mutationChecks } from './mutationChecks';

const REPOSITORY = join(__dirname, '..', '..', '..', '..');

describe.each(mutationChecks)(
  'The mutation check of $name',
  ({ also = [], test, ...edit }) => {
    it.each([edit, ...also])(
      'finds what it breaks once in $file',
      ({ file, find }) => {
        const text = readFileSync(join(REPOSITORY, file), 'utf8');
        expect(text.split(find)).toHaveLength(2);
      },
    );

    it('runs a test file that is there', () => {
      expect(test).toMatch(/\.test\.tsx?$/);
      expect(existsSync(join(REPOSITORY, test))).toBe(true);
    });
  },
);

describe('A sample of the mutation checks', () => {
  const names = (seed: string) =>
    sampleOf(mutationChecks, 3, seed).map(({ name }) => name);

  it('is the same for the same seed', () => {
    expect(names('a')).toEqual(names('a'));
  });

  it('has each of them for some seed', () => {
    const seeds = Array.from({ length: 300 }, (_, index) => `seed ${index}`);
    expect(new Set(seeds.flatMap(names)).size).toBe(mutationChecks.length);
  });
});
