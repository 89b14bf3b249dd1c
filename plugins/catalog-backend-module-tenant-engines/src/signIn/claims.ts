import { NotAllowedError } from '@backstage/errors';
import {
  highestRole,
  type PutTenantSignIn,
  type TenantRole,
} from 'backstage-plugin-tenants-common';

/** The claims of a provider about a person; three of them are used. */
export type Claims = Readonly<Record<string, unknown>>;

/** The person that results for a tenant. */
export interface Person {
  /** Unique in the namespace of the tenant. */
  name: string;
  email?: string;
  displayName?: string;
  /** By groups; nothing where no group has one. */
  role?: TenantRole;
}

/** As Backstage names entities, in lower case as its references are. */
const NAME = /^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/;

/**
 * Reads the claims of a tenant's provider about a person.
 *
 * @throws NotAllowedError for a person whom the tenant does not admit
 */
export function personOf(provider: PutTenantSignIn, claims: Claims): Person {
  const email = textOf(claims, provider.email_claim ?? 'email');
  if (provider.allowed_domains) {
    const domain = email?.split('@').at(-1)?.toLowerCase() ?? '';
    if (
      claims.email_verified !== true ||
      !provider.allowed_domains.includes(domain)
    ) {
      throw new NotAllowedError(
        'The provider has verified no address of a domain that this tenant allows',
      );
    }
  }
  return {
    name: nameOf(provider, claims),
    email,
    displayName: textOf(claims, 'name'),
    role: roleOf(provider, claims),
  };
}

/**
 * Names are never made to fit: two people whose names differ at the provider must not become one
 * here. Of an address, the part before the `@` will do where only one domain can follow.
 */
function nameOf(provider: PutTenantSignIn, claims: Claims): string {
  const claim = provider.name_claim ?? 'preferred_username';
  const value = textOf(claims, claim) ?? '';
  const [local, domain, ...rest] = value.toLowerCase().split('@');
  const isOfOnlyDomain =
    rest.length === 0 &&
    provider.allowed_domains?.length === 1 &&
    domain === provider.allowed_domains[0];
  const name = domain === undefined || isOfOnlyDomain ? local : '';
  if (!NAME.test(name)) {
    throw new NotAllowedError(
      `The claim ${claim} is not the name of a user: expected 1 to 63 characters of a-z, 0-9, ".", "_" and "-"`,
    );
  }
  return name;
}

function roleOf(
  provider: PutTenantSignIn,
  claims: Claims,
): TenantRole | undefined {
  const groups = claims[provider.groups_claim ?? 'groups'];
  const roles = new Map(Object.entries(provider.roles ?? {}));
  return highestRole(
    (Array.isArray(groups) ? groups : []).flatMap(
      group => roles.get(group) ?? [],
    ),
  );
}

function textOf(claims: Claims, name: string): string | undefined {
  const value = claims[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
