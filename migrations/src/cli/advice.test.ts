import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { Writable } from 'node:stream';
import ts from 'typescript';
import { addDoctor, buildProgram, commands } from './program';

const ROOT = resolve(__dirname, '../../..');
const MIGRATIONS = 'migrations/src';

const ALL = commands.map(({ name }) => name);

/** Values for what messages leave open. */
const VALUES: Record<string, string> = {
  '--base-url': 'https://portal.example.com',
  '--catalog-schema': 'public',
  '--max-pause': '6000',
  '--max-block': '5000',
  '--schema': 'tenancy',
  '--tenant': 'acme',
  '--tenant-name': 'Our company',
  '--to': '0',
  '--url': 'postgresql://localhost/catalog',
};

interface Source {
  /** Below the folder of the migrations, or of the repository. */
  path: string;
  root: ts.SourceFile;
}

function sourcesBelow(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), {
    recursive: true,
    withFileTypes: true,
  })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => join(entry.parentPath, entry.name))
    .filter(file => !/\.test\.ts$|__testUtils__/.test(file))
    .map(file => ({
      path: relative(join(ROOT, folder), file),
      root: ts.createSourceFile(
        file,
        readFileSync(file, 'utf8'),
        ts.ScriptTarget.Latest,
        true,
      ),
    }));
}

/** The texts that an expression can be; what it does not say itself is `…`. */
function textsOf(node: ts.Expression): string[] {
  if (ts.isStringLiteralLike(node)) {
    return [node.text];
  }
  if (ts.isConditionalExpression(node)) {
    return [...textsOf(node.whenTrue), ...textsOf(node.whenFalse)];
  }
  if (ts.isTemplateExpression(node)) {
    return [
      node.head.text +
        node.templateSpans.map(({ literal }) => `…${literal.text}`).join(''),
    ];
  }
  if (ts.isBinaryExpression(node)) {
    return textsOf(node.left).flatMap(left =>
      textsOf(node.right).map(right => left + right),
    );
  }
  return ['…'];
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  node.forEachChild(child => walk(child, visit));
}

/** Every call that names a command, as `[name, options]` of all that it can name. */
function advisedCommands({ root }: Source): [string, string][] {
  const found: [string, string][] = [];
  walk(root, node => {
    if (
      ts.isCallExpression(node) &&
      node.expression.getText() === 'operatorCommand' &&
      !node.arguments.some(each => each.getText().includes('command.usage()'))
    ) {
      const [name, options] = node.arguments;
      const names = textsOf(name).flatMap(text =>
        text === 'phase…' ? ALL.filter(each => /^phase\d$/.test(each)) : [text],
      );
      // Of a name in a variable nothing is known.
      for (const each of names.filter(text => text !== '…')) {
        (options ? textsOf(options) : ['']).forEach(text =>
          found.push([each, text]),
        );
      }
    }
  });
  return found;
}

/** The words of a command line, with values for what stands in angle brackets. */
function words(text: string): string[] {
  const found = text.match(/"[^"]*"|<[^>]*>|\S+/g) ?? [];
  return found.map((word, index) =>
    /^"?<.*>"?$|^…$/.test(word)
      ? VALUES[found[index - 1]] ?? 'acme'
      : word.replace(/^"(.*)"$/, '$1'),
  );
}

/** What the command line says against these words; nothing if it takes them. */
async function complaint(argv: string[]): Promise<string | undefined> {
  let text = '';
  let begun = false;
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const begin = async () => {
    begun = true;
  };
  const program = buildProgram({ stdout: stream, stderr: stream }, begin);
  addDoctor(program, begin);
  await program.parseAsync(argv, { from: 'user' }).catch(() => undefined);
  return begun ? undefined : `${argv.join(' ')}: ${text}`;
}

/** Those words that the command line does not take, with what it says. */
async function complaints(lines: string[][]): Promise<string[]> {
  const found: string[] = [];
  for (const argv of lines) {
    const text = await complaint(argv);
    if (text !== undefined) {
      found.push(text);
    }
  }
  return found;
}

describe('the advice in messages', () => {
  it('names commands that the command line takes', async () => {
    const sources = [...sourcesBelow(MIGRATIONS), ...sourcesBelow('plugins')];
    const advised = sources.flatMap(advisedCommands);
    expect(advised.length).toBeGreaterThan(30);
    expect(
      await complaints(
        advised.map(([name, options]) => [name, ...words(options)]),
      ),
    ).toEqual([]);
  });
});
