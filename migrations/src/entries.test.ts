import { existsSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import ts from 'typescript';
import {
  dependencies,
  peerDependencies,
  peerDependenciesMeta,
} from '../package.json';

/** All that a module imports, by way of others and for types too. */
function importGraph(entry: string): { files: string[]; packages: string[] } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (path: string) => {
    if (files.has(path)) {
      return;
    }
    files.add(path);
    const { importedFiles } = ts.preProcessFile(readFileSync(path, 'utf8'));
    for (const { fileName } of importedFiles) {
      if (fileName.startsWith('.')) {
        visit(fileOf(resolve(dirname(path), fileName)));
      } else if (!builtinModules.includes(fileName.replace('node:', ''))) {
        packages.add(fileName.match(/^(@[^/]+\/)?[^/]+/)![0]);
      }
    }
  };
  visit(resolve(__dirname, entry));
  return {
    files: [...files].map(path => relative(__dirname, path)),
    packages: [...packages].sort(),
  };
}

function fileOf(module: string): string {
  return [`${module}.ts`, `${module}/index.ts`].find(existsSync)!;
}

const OF_THE_OPERATOR = Object.keys(peerDependenciesMeta);

it('a backend imports nothing of the command line, and nothing that it does not install', () => {
  const { files, packages } = importGraph('index.ts');
  expect(files).toContain('adopt/adopt.ts');
  expect(files.filter(path => /^(cli|preflight|verify)\//.test(path))).toEqual(
    [],
  );
  expect(packages).toContain('pg');
  const installed = Object.keys({ ...dependencies, ...peerDependencies });
  expect(
    packages.filter(
      name => !installed.includes(name) || OF_THE_OPERATOR.includes(name),
    ),
  ).toEqual([]);
});

it('the command line is what needs the packages that only an operator installs', () => {
  const { files, packages } = importGraph('cli/index.ts');
  expect(files).toContain('cli/program.ts');
  expect(packages).toEqual(expect.arrayContaining(OF_THE_OPERATOR));
});

it('the package of the operator brings all of them', () => {
  const operator = JSON.parse(
    readFileSync(
      resolve(__dirname, '../../packages/catalog-tenancy-cli/package.json'),
      'utf8',
    ),
  );
  expect(operator.dependencies).toMatchObject(
    Object.fromEntries(
      OF_THE_OPERATOR.map(name => [
        name,
        peerDependencies[name as keyof typeof peerDependencies],
      ]),
    ),
  );
});
