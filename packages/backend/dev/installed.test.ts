import { mkdir, mkdtemp, rm, writeFile } from 'fs/promises';
import { tmpdir } from 'os';
import { join } from 'path';
import { assertSingle, readInstalled, versionsOf } from './installed';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'installed-'));
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

async function install(folder: string, version: string): Promise<void> {
  await mkdir(join(root, folder), { recursive: true });
  await writeFile(
    join(root, folder, 'package.json'),
    JSON.stringify({ version }),
  );
}

it('finds the copies below other packages and in workspaces', async () => {
  await install('node_modules/@backstage/ui', '0.20.0');
  await install(
    'node_modules/@backstage/a/node_modules/@backstage/ui',
    '0.18.0',
  );
  await install('packages/app/node_modules/@backstage/ui', '0.18.0');
  await install('node_modules/once', '1.0.0');
  const installed = await readInstalled(root);
  expect(versionsOf(installed, '@backstage/ui')).toBe(
    '0.18.0 (2 copies), 0.20.0',
  );
  expect(() => assertSingle(installed, ['once'])).not.toThrow();
  expect(() =>
    assertSingle(installed, ['once', '@backstage/ui', 'missing']),
  ).toThrow(
    expect.objectContaining({
      actual: ['@backstage/ui: 0.18.0 (2 copies), 0.20.0', 'missing: none'],
    }),
  );
});
