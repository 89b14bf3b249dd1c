import { existsSync, readFileSync } from 'fs';
import { join } from 'path';
import { guards } from './guards';

const REPOSITORY = join(__dirname, '..', '..', '..', '..');

describe.each(guards)('The guard $name', ({ edits, tests }) => {
  it.each(edits)('stands once in $file', ({ file, find }) => {
    const text = readFileSync(join(REPOSITORY, file), 'utf8');
    expect(text.split(find)).toHaveLength(2);
  });

  it.each(tests)('is tested by %s', path => {
    expect(existsSync(join(REPOSITORY, path))).toBe(true);
  });
});
