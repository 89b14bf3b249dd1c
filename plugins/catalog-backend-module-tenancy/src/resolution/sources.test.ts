import { outcomeOf, REFUSED } from './__testUtils__/outcomeOf';
import { InMemoryTenants } from './__testUtils__/InMemoryTenants';
import {
  startTenantBackend,
  type TenantBackend,
} from './__testUtils__/startTenantBackend';
import { sign } from './__testUtils__/tokens';

const BARE_HOST = 'portal.example';
const bearer = (tenantSlug: string) => `Bearer ${sign({ tenantSlug })}`;

describe('the sources of a slug', () => {
  const directory = new InMemoryTenants();
  let backend: TenantBackend;

  beforeAll(async () => {
    backend = await startTenantBackend({ directory });
  });

  beforeEach(() => {
    directory.lookups = [];
  });

  /** Hostname, token, header, and whose catalog answers. */
  it.each<[string | undefined, string | undefined, string | undefined, string]>(
    [
      // Each alone.
      [undefined, undefined, undefined, 'default'],
      ['acme', undefined, undefined, 'acme'],
      [undefined, 'globex', undefined, 'globex'],
      // In disagreement, in their order.
      ['acme', 'globex', 'initech', 'acme'],
      [undefined, 'globex', 'initech', 'globex'],
      ['www', undefined, 'initech', 'initech'],
      // The default tenant by name.
      ['default', 'globex', 'initech', 'default'],
      [undefined, 'default', 'initech', 'default'],
      // The first that yields a slug decides, though it names no tenant.
      ['unknown', 'globex', 'initech', REFUSED],
      [undefined, 'unknown', 'initech', REFUSED],
      [undefined, undefined, 'unknown', REFUSED],
    ],
  )(
    'hostname %s, token %s, header %s: %s',
    async (label, claim, header, expected) => {
      const answer = await backend.get({
        host: label ? `${label}.${BARE_HOST}` : BARE_HOST,
        ...(claim ? { authorization: bearer(claim) } : {}),
        ...(header ? { 'x-tenant-slug': header } : {}),
      });
      expect(outcomeOf(answer)).toBe(expected);
    },
  );

  it.each<[string, string | string[], string]>([
    ['nothing', '', 'default'],
    ['blanks', ' \t ', 'default'],
    ['blanks around a slug', ' \tacme  ', 'acme'],
    ['upper case', 'ACME', REFUSED],
    ['a blank inside', 'ac me', REFUSED],
    ['a letter of another alphabet', '\u00e4cme', REFUSED],
    ['a quote', "acme' or '1'='1", REFUSED],
    ['a list', 'acme,globex', REFUSED],
    ['two lines that differ', ['acme', 'globex'], REFUSED],
    ['two lines that agree', ['acme', 'acme'], REFUSED],
    ['a second line that is empty', ['acme', ''], REFUSED],
  ])('X-Tenant-Slug with %s (%j): %s', async (_title, value, expected) => {
    const answer = await backend.get({
      host: BARE_HOST,
      'x-tenant-slug': value,
    });
    expect(outcomeOf(answer)).toBe(expected);
    expect(directory.lookups).toEqual(expected === REFUSED ? [] : [expected]);
  });

  it.each(['origin', 'referer'])(
    'is no %s without base domains: pages of any site would name tenants',
    async header => {
      const answer = await backend.get({
        host: BARE_HOST,
        [header]: 'https://acme.other.example/',
      });
      expect(outcomeOf(answer)).toBe('default');
    },
  );

  it.each(['-', '0', 'a-b', '-'.repeat(63), '0'.repeat(500)])(
    'looks up any slug of the specified form: %s',
    async slug => {
      expect(
        outcomeOf(
          await backend.get({ host: BARE_HOST, 'x-tenant-slug': slug }),
        ),
      ).toBe(REFUSED);
      expect(directory.lookups).toEqual([slug]);
    },
  );
});
