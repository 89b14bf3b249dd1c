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
    ['', /it must be an object with tenants, got null/],
    [
      'tenants: [{ slug: a, name: A, members: { "user:default/x": owner } }]',
      /tenants\[0\]\.members\["user:default\/x"\] must be "viewer", /,
    ],
    ['tenants: [{ slug: A, name: A }]', /tenants\[0\]\.slug must be 1 to 63/],
    ['tenants: [{ slug: a, name: A, nmae: A }]', /"nmae" in tenants\[0\]/],
    [
      'tenants: [{ slug: a, name: A }, { slug: a, name: B }]',
      /tenants\[1\]\.slug must be another slug than 'a'/,
    ],
    [
      'tenants: [{ slug: a, name: A, members: { "user:default/x": admin, "User:default/X": viewer } }]',
      /members\["User:default\/X"\] must be a reference that no other member has/,
    ],
    [
      'tenants: [{ slug: a, name: A, sign_in: { issuer: x, client_id: a, client_secret: b } }]',
      /sign_in\.issuer must be the URL of an issuer/,
    ],
  ])('is refused with the path of what is wrong: %s', (text, message) => {
    expect(() => parse(text)).toThrow(message);
  });

  it('may have all names that the registry takes', () => {
    const name = '\u{1f600}'.repeat(255);
    expect(parse(`tenants: [{ slug: a, name: ${name} }]`)).toMatchObject([
      { name },
    ]);
  });

  it('is refused where it is not there', async () => {
    await expect(readTenantsFile('/nowhere.yaml')).rejects.toThrow(
      "Can't read /nowhere.yaml: ENOENT",
    );
  });
});
