import { repositoryFiles } from '@internal/postgres/testUtils';
import { existsSync, readFileSync } from 'fs';
import { dirname, join, normalize } from 'path';
import { targetPaths } from '@backstage/cli-common';
import { parse } from 'yaml';

// That documents lead somewhere: a link to a file and a heading that are there, and no name of a
// source file that was renamed or deleted since. And that their YAML can be read, and their
// commands be run.

const FILES = repositoryFiles(targetPaths.rootDir);
const DOCUMENTS = FILES.filter(file => file.endsWith('.md'));

const textOf = (file: string) =>
  readFileSync(targetPaths.resolveRoot(file), 'utf8');

const proseOf = (file: string) =>
  textOf(file).replace(/^ *```.*?^ *```/gms, '');

const yamlOf = (file: string) =>
  [...textOf(file).matchAll(/^( *)```yaml$(.*?)^\1```$/gms)].map(
    ([, , block]) => block,
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

it.each(DOCUMENTS.filter(file => yamlOf(file).length > 0))(
  '%s has YAML that can be read',
  file => {
    for (const block of yamlOf(file)) {
      expect(() => parse(block)).not.toThrow();
    }
  },
);

it('name scripts of package.json that are there', () => {
  const { scripts } = JSON.parse(textOf('package.json'));
  const named = DOCUMENTS.flatMap(file => [
    ...textOf(file).matchAll(
      /\b(?:npm run(?: -s| --silent)?|yarn) ((?:migrate|test|bench|build|smoke|pack|mutation|tenant)[\w:-]*)/g,
    ),
  ]).map(([, script]) => script);
  expect(named).toContain('migrate:adopt');
  expect(named.filter(script => !(script in scripts))).toEqual([]);
});

it('docs/integrators/threat-model.md names code and tests that are there', () => {
  const named = proseOf('docs/integrators/threat-model.md').match(
    /[\w./-]+\.(?:tsx?|sql)\b/g,
  );
  expect(
    named!.filter(name => !FILES.some(file => `/${file}`.endsWith(`/${name}`))),
  ).toEqual([]);
});
