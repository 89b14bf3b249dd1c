import { existsSync, readFileSync } from 'fs';
import { join } from 'path';
import { mutationChecks } from './mutationChecks';

const REPOSITORY = join(__dirname, '..', '..', '..', '..');

describe.each(mutationChecks)(
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
