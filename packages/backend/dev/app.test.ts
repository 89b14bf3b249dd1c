import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'fs';
import { tmpdir } from 'os';
import { dirname, join } from 'path';
import { buildApp, findAppSources } from './app';

describe('the pages of npm start', () => {
  let root: string;
  const build = jest.fn();
  const print = jest.fn();

  const path = (name: string) => join(root, name);
  const write = (name: string, content: string) => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), content);
  };

  function prepare(settings: string[] = []) {
    return buildApp({
      folder: path('app'),
      sources: [path('app'), path('plugin')],
      settings,
      build,
      print,
    });
  }

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'app-test-'));
    write('app/src/index.tsx', 'one');
    write('plugin/src/index.ts', 'two');
    build.mockReset().mockImplementation(async () => {
      rmSync(path('app/dist'), { recursive: true, force: true });
      write('app/dist/index.html', 'built');
    });
    print.mockReset();
  });

  afterEach(() => rmSync(root, { recursive: true }));

  it('are built once', async () => {
    await expect(prepare()).resolves.toBe(true);
    expect(build).toHaveBeenCalledWith(path('app'));
    expect(print.mock.calls.join('\n')).toMatch(
      /^Building the pages of the portal …\nBuilt the pages in \d+ s$/,
    );
    await expect(prepare()).resolves.toBe(false);
    expect(build).toHaveBeenCalledTimes(1);
  });

  it('say for how long they have been built', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
    try {
      build.mockImplementationOnce(async () => {
        jest.advanceTimersByTime(12_000);
        write('app/dist/index.html', 'built');
      });
      await prepare();
    } finally {
      jest.useRealTimers();
    }
    expect(print.mock.calls.flat().slice(1)).toEqual([
      'Building the pages: 5 s …',
      'Building the pages: 10 s …',
      'Built the pages in 12 s',
    ]);
  });

  it.each([
    ['a source of the app', () => write('app/src/index.tsx', 'other')],
    ['a source of a plugin', () => write('plugin/src/index.ts', 'other')],
    ['one more source', () => write('plugin/src/new.ts', '')],
    ['the loss of a source', () => rmSync(path('plugin/src/index.ts'))],
    [
      'the loss of the build',
      () => rmSync(path('app/dist'), { recursive: true }),
    ],
  ])('are built again after %s', async (_, change) => {
    await prepare();
    change();
    await expect(prepare()).resolves.toBe(true);
    await expect(prepare()).resolves.toBe(false);
  });

  it.each([
    'plugin/src/index.test.tsx',
    'plugin/src/__testUtils__/x.ts',
    'plugin/node_modules/x/index.js',
    'plugin/dist/index.js',
    'plugin/README.md',
    'app/e2e-tests/x.ts',
  ])('are not built again after a change of %s', async name => {
    await prepare();
    write(name, 'other');
    await expect(prepare()).resolves.toBe(false);
  });

  it('are made of the packages of this repository that packages/app depends on or builds in', async () => {
    const { folder, sources } = await findAppSources();
    expect(folder).toMatch(/packages\/app$/);
    expect(
      sources.map(source => source.split('/').slice(-2).join('/')),
    ).toEqual(
      expect.arrayContaining([
        'packages/app',
        'packages/pages',
        'plugins/tenants',
        'plugins/tenants-common',
      ]),
    );
    expect(sources.join()).not.toMatch(/backend/);
  });
});
