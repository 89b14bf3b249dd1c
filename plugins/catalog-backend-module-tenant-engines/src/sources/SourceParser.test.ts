import { DEFAULT_BOUNDS } from './bounds';
import { SourceParser } from './SourceParser';

const LISTS = `x: [${'[],'.repeat(3_000_000)}]\n`;

describe('the thread that parses sources', () => {
  let parser: SourceParser;

  afterEach(() => parser.close());

  it('ends without the process where a bound has forgotten something', async () => {
    parser = new SourceParser({
      ...DEFAULT_BOUNDS,
      maxValues: 1e9,
      // The heap is full before, on whatever machine.
      timeoutMs: 3_600_000,
    });
    await expect(parser.parse('acme', LISTS)).rejects.toThrow(
      'The source takes more than 512 MB to be parsed',
    );
    await expect(parser.parse('acme', 'a: 1')).resolves.toEqual([
      { json: '{"a":1}' },
    ]);
  });

  it.each(['&a ', '!a ', ':\n', '%\n'])(
    'refuses what takes it long, such as many of %j',
    async token => {
      parser = new SourceParser({ ...DEFAULT_BOUNDS, timeoutMs: 10_000 });
      await expect(parser.parse('acme', token.repeat(500_000))).rejects.toThrow(
        'has more than 10,000 values',
      );
    },
  );

  it('parses the file of a tenant beside many of another', async () => {
    parser = new SourceParser(DEFAULT_BOUNDS);
    // Both threads are there.
    await Promise.all(['acme', 'globex'].map(t => parser.parse(t, 'a: 1')));
    const order: string[] = [];
    const parse = (tenant: string, name: string) =>
      parser.parse(tenant, `name: ${name}`).then(() => order.push(tenant));
    await Promise.all([
      ...Array.from({ length: 20 }, (_, i) => parse('acme', `a-${i}`)),
      parse('globex', 'b'),
    ]);
    expect(order.slice(0, 10)).toContain('globex');
  });

  it('answers each document of a file, what is wrong in one beside the others', async () => {
    parser = new SourceParser(DEFAULT_BOUNDS);
    await expect(
      parser.parse('acme', 'a: 1\n---\nb: [\n---\n\n---\n- 2\n'),
    ).resolves.toEqual([
      { json: '{"a":1}' },
      { error: expect.stringContaining('YAMLParseError') },
      { json: 'null' },
      { json: '[2]' },
    ]);
  });
});
