import { mkdtempSync, realpathSync, rmSync } from 'fs';
import { tmpdir } from 'os';
import { join } from 'path';

/** An empty folder for every test, with mode 0700 as always. */
export function temporaryFolder(): () => string {
  let folder: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'postgres-test-')));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  return () => folder;
}
