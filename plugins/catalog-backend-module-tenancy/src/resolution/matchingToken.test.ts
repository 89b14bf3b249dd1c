import { outcomeOf, REFUSED } from './__testUtils__/outcomeOf';
import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import {
  startTenantBackend,
  type TenantBackend,
} from './__testUtils__/startTenantBackend';
import { seconds, sign } from './__testUtils__/tokens';

const bearer = (tenantSlug: string, claims = {}) =>
  `Bearer ${sign({ tenantSlug, ...claims })}`;

describe('tenancy.requireMatchingToken', () => {
  const directory = new InMemoryTenants();
  let backend: TenantBackend;
  beforeAll(async () => {
    backend = await startTenantBackend({
      directory,
      tenancy: { requireMatchingToken: true },
    });
  });

  it.each<[string, Record<string, string>, string]>([
    [
      'a token for the tenant of the hostname',
      { host: 'acme.portal.example', authorization: bearer('acme') },
      'acme',
    ],
    [
      'a token alone',
      { host: 'portal.example', authorization: bearer('acme') },
      'acme',
    ],
    ['no token', { host: 'acme.portal.example' }, 'acme'],
    [
      'a token that does not verify, which Backstage itself refuses',
      { host: 'acme.portal.example', authorization: `${bearer('globex')}x` },
      'acme',
    ],
  ])('lets pass: %s', async (_title, headers, expected) => {
    expect(outcomeOf(await backend.get(headers))).toBe(expected);
  });

  it.each<[string, Record<string, string>]>([
    [
      'a token for another tenant than that of the hostname',
      { host: 'acme.portal.example', authorization: bearer('globex') },
    ],
    [
      'the same after two spaces, which Backstage takes for one',
      {
        host: 'acme.portal.example',
        authorization: bearer('globex').replace(' ', '  '),
      },
    ],
    [
      'a token that has expired since Backstage let it pass, and a header',
      {
        host: 'portal.example',
        authorization: bearer('globex', { exp: seconds(-1) }),
        'x-tenant-slug': 'acme',
      },
    ],
  ])('refuses: %s', async (_title, headers) => {
    directory.lookups = [];
    expect(outcomeOf(await backend.get(headers))).toBe(REFUSED);
    expect(directory.lookups).toEqual([]);
  });
});
