import { repositoryFiles } from '@internal/postgres/testUtils';
import { existsSync, readFileSync } from 'fs';
import { basename, dirname, join, normalize } from 'path';
import { targetPaths } from '@backstage/cli-common';

// That documents lead somewhere: a link to a file and a heading that are there, and no name of a
// source file that was renamed or deleted since.

const FILES = repositoryFiles(targetPaths.rootDir);
const DOCUMENTS = FILES.filter(file => file.endsWith('.md'));
const NAMES = new Set(FILES.map(file => basename(file)));

const proseOf = (file: string) =>
  readFileSync(targetPaths.resolveRoot(file), 'utf8').replace(
    /^ *```.*?^ *```/gms,
    '',
  );

/** The anchors of a document's headings, as GitHub makes them. */
const anchorsOf = (file: string) =>
  [...proseOf(file).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );

function isDead(link: string, from: string): boolean {
  const [path, anchor] = link.split('#');
  const target = path ? normalize(join(dirname(from), path)) : from;
  return (
    !existsSync(targetPaths.resolveRoot(target)) ||
    (anchor !== undefined &&
      target.endsWith('.md') &&
      !anchorsOf(target).includes(anchor))
  );
}

it('finds the documents', () => {
  expect(DOCUMENTS).toEqual(
    expect.arrayContaining(['README.md', 'docs/operators/adoption.md']),
  );
});

it.each(DOCUMENTS)('%s links to files and headings that are there', file => {
  const links = [...proseOf(file).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link)
    .filter(link => !/^[a-z]+:/.test(link));
  expect(links.filter(link => isDead(link, file))).toEqual([]);
});

it('docs/integrators/threat-model.md names code and tests that are there', () => {
  const named = proseOf('docs/integrators/threat-model.md').match(
    /[\w.-]+\.(?:tsx?|sql)\b/g,
  );
  expect(named!.filter(name => !NAMES.has(name))).toEqual([]);
});
