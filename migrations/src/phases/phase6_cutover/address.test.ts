import { addressOf, hostnameLabel, tokenTenant } from './address';

describe('addressOf', () => {
  it.each(['Bearer secret-1', 'secret-1\nsecret-2', 'secret-1é'])(
    'refuses what is no token, and does not show it: %j',
    token => {
      const act = () =>
        addressOf({ cutover: { baseUrl: 'http://localhost', token } });
      expect(act).toThrow('Expected the token alone');
      expect(act).not.toThrow('secret');
    },
  );
});

describe('hostnameLabel', () => {
  it.each([
    ['https://portal.example.com', 'portal'],
    ['https://www.example.com', undefined],
    ['http://localhost:7007', undefined],
    ['http://127.0.0.1', undefined],
    ['http://[::1]:7007', undefined],
  ])('finds the label of %s', (baseUrl, label) => {
    expect(hostnameLabel(baseUrl)).toBe(label);
  });
});

describe('tokenTenant', () => {
  const encode = (claims: unknown) =>
    `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;

  it.each([
    [encode({ tenantSlug: 'acme' }), 'acme'],
    [encode({ tenantSlug: 1 }), undefined],
    [encode(null), undefined],
    ['static-token', undefined],
    ['not.json.at-all', undefined],
    [undefined, undefined],
  ])('reads the claim of %s', (token, tenant) => {
    expect(tokenTenant(token)).toBe(tenant);
  });
});
