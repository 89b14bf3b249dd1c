import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  describeDifferences,
  readPackagesOfPortal,
  readSharedPackages,
} from './packages';

const ENGINES = 'backstage-plugin-catalog-backend-module-tenant-engines';
const CATALOG = '@backstage/plugin-catalog-backend';

describe('the packages that engines share with their backend', () => {
  let portal: string;

  beforeEach(() => {
    portal = mkdtempSync(join(tmpdir(), 'portal-'));
    write('packages/backend');
  });

  afterEach(() => rmSync(portal, { recursive: true, force: true }));

  function write(folder: string, version = '1.0.0') {
    const path = join(portal, folder, 'package.json');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify({ version }));
  }

  it('are named with the version of their one copy', () => {
    write(`node_modules/${ENGINES}`);
    write(`node_modules/${CATALOG}`, '4.0.5');
    const packages = readPackagesOfPortal(portal);
    expect(packages).toEqual([
      { name: CATALOG, version: '4.0.5', otherVersion: null },
    ]);
    expect(describeDifferences(packages)).toEqual([]);
  });

  it('are said to differ where the backend has a copy of its own', () => {
    write(`node_modules/${ENGINES}`);
    write(`node_modules/${CATALOG}`, '4.0.5');
    write(`packages/backend/node_modules/${CATALOG}`, '4.0.0');
    const packages = readPackagesOfPortal(portal);
    expect(packages).toEqual([
      { name: CATALOG, version: '4.0.5', otherVersion: '4.0.0' },
    ]);
    expect(describeDifferences(packages)).toEqual([
      `The engines of tenants run with ${CATALOG} 4.0.5, and the backend with another copy, ` +
        `4.0.0. Install one copy: "yarn dedupe ${CATALOG}", or one version in "resolutions".`,
    ]);
  });

  it('are said to differ where two copies have the same version', () => {
    write(`node_modules/${CATALOG}`, '4.0.5');
    write(`node_modules/${ENGINES}`);
    write(`node_modules/${ENGINES}/node_modules/${CATALOG}`, '4.0.5');
    expect(describeDifferences(readPackagesOfPortal(portal))).toHaveLength(1);
  });

  it('are none in a portal without engines', () => {
    write(`node_modules/${CATALOG}`);
    expect(readPackagesOfPortal(portal)).toEqual([]);
  });

  it('are all found in this repository', () => {
    const packages = readSharedPackages(__filename, __filename);
    expect(packages.map(({ name }) => name)).toContain(CATALOG);
    expect(describeDifferences(packages)).toEqual([]);
  });
});
