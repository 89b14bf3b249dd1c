import { mockServices } from '@backstage/backend-test-utils';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { logPackages, NEWEST_TESTED, readEnginePackages } from './packages';

const CATALOG = '@backstage/plugin-catalog-backend';

describe('the packages that engines run with', () => {
  const warningsAbout = (version: string, otherVersion: string | null) => {
    const logger = mockServices.logger.mock();
    logPackages([{ name: CATALOG, version, otherVersion }], logger);
    expect(logger.info).toHaveBeenCalledWith(
      `The engines of tenants run with ${CATALOG} ${version}`,
    );
    return logger.warn.mock.calls.map(([message]) => message);
  };

  it('are no newer than those that are said to be tested', () => {
    const logger = mockServices.logger.mock();
    const packages = readEnginePackages();
    expect(packages.map(({ name }) => name)).toEqual(
      expect.arrayContaining(Object.keys(NEWEST_TESTED)),
    );
    logPackages(packages, logger);
    expect(logger.warn).not.toHaveBeenCalled();
  });

  it('of a release newer than the tested ones are warned of in one line', () => {
    expect(warningsAbout('4.0.5', null)).toEqual([]);
    expect(warningsAbout('4.0.10', null)).toEqual([
      `The engines of tenants are not tested with ${CATALOG} 4.0.10 (tested up to 4.0.5)`,
    ]);
  });

  it('are warned of where the default tenant runs another copy', () => {
    expect(warningsAbout('4.0.5', '4.0.0')).toEqual([
      expect.stringContaining('another copy, 4.0.0'),
    ]);
  });

  it('are told apart where the backend has a copy of its own, of the same version too', () => {
    const portal = mkdtempSync(join(tmpdir(), 'portal-'));
    const write = (folder: string, version: string) => {
      const path = join(portal, folder, 'package.json');
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, JSON.stringify({ version }));
      return path;
    };
    try {
      const backend = write('packages/backend', '1.0.0');
      const engines = write('node_modules/engines', '1.0.0');
      write(`node_modules/${CATALOG}`, '4.0.5');
      write(`packages/backend/node_modules/${CATALOG}`, '4.0.5');
      expect(readEnginePackages(backend, engines)).toEqual([
        { name: CATALOG, version: '4.0.5', otherVersion: '4.0.5' },
      ]);
    } finally {
      rmSync(portal, { recursive: true, force: true });
    }
  });
});
