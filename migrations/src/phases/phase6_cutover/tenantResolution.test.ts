import type { Executor } from '../../engine/Executor';
import {
  explainInvalidTenant,
  explainUnknownResolves,
} from './tenantResolution';

/** A database with these tenants. */
function withTenants(...slugs: string[]): Executor {
  const read = async (_: string, [slug]: unknown[] = []) =>
    slugs.includes(slug as string) ? [{}] : [];
  return { read } as unknown as Executor;
}

const CLAIM = `e30.${Buffer.from('{"tenantSlug":"acme"}').toString(
  'base64url',
)}.c2ln`;

describe('explainInvalidTenant', () => {
  it('names the label of the hostname that was taken for a tenant', async () => {
    const address = { baseUrl: 'https://portal.example.com' };
    const message = await explainInvalidTenant(
      withTenants('default'),
      address,
      'default',
    );
    expect(message).toContain('its first label, "portal"');
    expect(message).toContain('tenancy.baseDomains');
    expect(message).toContain('app.baseUrl');
  });

  it.each([
    ['a token that names a tenant', CLAIM, ['default'], 'the tenant "acme"'],
    ['a tenant that is deleted', undefined, [], 'deleted_at is set'],
    ['another database', undefined, ['default'], 'another database or schema'],
  ])('explains %s', async (_, token, tenants, expected) => {
    await expect(
      explainInvalidTenant(
        withTenants(...tenants),
        { baseUrl: 'http://localhost:7007', token },
        'default',
      ),
    ).resolves.toContain(expected);
  });
});

describe('explainUnknownResolves', () => {
  it.each([
    ['a hostname of a tenant', 'https://acme.example.com', undefined, '"acme"'],
    ['a token of a tenant', 'http://localhost', CLAIM, 'claim tenantSlug'],
    [
      'the flag',
      'https://portal.example.com',
      undefined,
      'without MULTI_TENANCY_ENABLED=true',
    ],
  ])('finds the reason in %s', async (_, baseUrl, token, expected) => {
    await expect(
      explainUnknownResolves(withTenants('acme'), { baseUrl, token }),
    ).resolves.toContain(expected);
  });
});
