import {
  addLocation,
  locationIn,
  locationsOf,
  parseText,
  removeLocation,
  toText,
} from './configText';

const TEXT = `# ours
catalog:
  locations:
    - type: url # the first
      target: https://a.example/one.yaml
    - type: url
      target: https://a.example/two.yaml
      rules:
        - allow: [User, Group]
integrations:
  github:
    - host: github.com
      token: \${ACME_TOKEN}
plugins:
  jenkins:
    instances: [{ name: acme }]
`;

describe('the text of a configuration', () => {
  it('is empty where nothing is configured, and nothing where it is empty', () => {
    expect(toText({ catalog: {}, integrations: {} })).toBe('');
    expect(parseText('')).toEqual({ config: {} });
  });

  it('has what the configuration has', () => {
    const config = parseText(TEXT).config!;
    expect(parseText(toText(config))).toEqual({ config });
    expect(config.integrations).toEqual({
      github: [{ host: 'github.com', token: '${ACME_TOKEN}' }],
    });
  });

  it('names the line of what is no YAML', () => {
    expect(parseText('catalog:\n  locations: [\n')).toEqual({
      problem: { line: expect.any(Number), message: expect.any(String) },
    });
    expect(parseText('a: 1\na: 2\n').problem).toEqual({
      line: 2,
      message: 'Map keys must be unique',
    });
  });

  it('is refused where its aliases grow without end', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 8; i += 1) {
      const alias = `*a${i - 1}`;
      lines.push(`a${i}: &a${i} [${Array(9).fill(alias).join(', ')}]`);
    }
    expect(parseText(lines.join('\n')).problem?.message).toMatch(/alias/);
  });

  it('shows the locations, whatever stands in their place', () => {
    expect(locationsOf(parseText(TEXT).config!)).toEqual([
      { target: 'https://a.example/one.yaml', kinds: [] },
      {
        target: 'https://a.example/two.yaml',
        kinds: ['User', 'Group'],
      },
    ]);
    for (const text of [
      'x',
      '[]',
      'catalog: 1',
      'catalog: { locations: { a: 1 } }',
    ]) {
      expect(locationsOf(parseText(text).config!)).toEqual([]);
    }
    expect(
      locationsOf(
        parseText('catalog: { locations: [1, { rules: 2 }] }').config!,
      ),
    ).toHaveLength(2);
  });

  it('gets a location, and keeps what somebody has written', () => {
    const added = addLocation(TEXT, {
      target: 'https://a.example/three.yaml',
      kinds: ['API'],
    });
    expect(added).toContain('# ours');
    expect(added).toContain('# the first');
    const before = parseText(TEXT).config!;
    const { config } = parseText(added);
    expect(config?.integrations).toEqual(before.integrations);
    expect(config?.catalog?.locations).toEqual([
      ...(before.catalog?.locations as unknown[]),
      {
        type: 'url',
        target: 'https://a.example/three.yaml',
        rules: [{ allow: ['API'] }],
      },
    ]);
  });

  it.each(['', 'catalog:', 'catalog: {}', 'integrations: {}\n'])(
    'gets the first location where it was %j',
    text => {
      const { config } = parseText(
        addLocation(text, { target: 'https://a.example/x.yaml', kinds: [] }),
      );
      expect(config?.catalog).toEqual({
        locations: [{ type: 'url', target: 'https://a.example/x.yaml' }],
      });
    },
  );

  it('loses a location, and with the last one what is empty then', () => {
    const one = removeLocation(TEXT, 0);
    expect(locationsOf(parseText(one).config!)).toEqual([
      expect.objectContaining({ target: 'https://a.example/two.yaml' }),
    ]);
    const none = removeLocation(one, 0);
    expect(Object.keys(parseText(none).config!)).toEqual([
      'integrations',
      'plugins',
    ]);
    const only = addLocation('', { target: 'https://x', kinds: [] });
    expect(removeLocation(only, 0)).toBe('');
  });

  it('knows which location an error is about', () => {
    expect(
      locationIn("catalog.locations[1].target: the host 'x' is none"),
    ).toBe(1);
    expect(locationIn('catalog.providers: no')).toBeUndefined();
  });
});
