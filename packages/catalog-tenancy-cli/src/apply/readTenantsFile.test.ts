import { parseTenants, readTenantsFile } from './readTenantsFile';

const parse = (text: string) => parseTenants(text, 'tenants.yaml');

describe('The file of tenants', () => {
  it('has defaults for what is left out', () => {
    expect(
      parse(`
tenants:
  - slug: acme
    name: Acme
    shares: [{ filter: [kind=api], targets: all }]
`),
    ).toEqual([
      {
        slug: 'acme',
        name: 'Acme',
        limits: {},
        shares: [
          { filter: ['kind=api'], targets: 'all', owner: null, position: 100 },
        ],
      },
    ]);
  });

  it.each([
    ['tenants: [', /^tenants.yaml is not valid YAML: .* line 1/s],
    ['', /Invalid input/],
    [
      'tenants: [{ slug: a, name: A, members: { "user:default/x": owner } }]',
      /\n {2}tenants\[0\]\.members\["user:default\/x"\]: /,
    ],
    ['tenants: [{ slug: A, name: A }]', /\n {2}tenants\[0\]\.slug: 1 to 63/],
    ['tenants: [{ slug: a, name: A, nmae: A }]', /\n {2}tenants\[0\]: .*nmae/],
    [
      'tenants: [{ slug: a, name: A }, { slug: a, name: B }]',
      /\n {2}tenants\[1\]\.slug: another slug than 'a'/,
    ],
  ])('is refused with the path of what is wrong: %s', (text, message) => {
    expect(() => parse(text)).toThrow(message);
  });

  it('is refused where it is not there', async () => {
    await expect(readTenantsFile('/nowhere.yaml')).rejects.toThrow(
      "Can't read /nowhere.yaml: ENOENT",
    );
  });
});
