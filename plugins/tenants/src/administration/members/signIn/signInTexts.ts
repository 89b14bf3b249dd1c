import type {
  PutTenantSignIn,
  TenantRole,
} from 'backstage-plugin-tenants-common';

/** The fields that are typed, in the order of the form. */
export const TEXT_FIELDS = [
  'issuer',
  'client_id',
  'client_secret',
  'allowed_domains',
  'roles',
  'scopes',
  'name_claim',
  'email_claim',
  'groups_claim',
] as const;

/** Those that may stay empty. */
export const isOptional = (field: TextField) =>
  !['issuer', 'client_id', 'client_secret'].includes(field);

export type TextField = (typeof TEXT_FIELDS)[number];
type SignInTexts = Record<TextField, string>;

const FILE = /^\$file:\s*/;

/** A provider as its form shows it; without one, an empty form. */
export function toTexts(provider?: PutTenantSignIn): SignInTexts {
  const { roles = {} } = provider ?? {};
  return {
    issuer: provider?.issuer ?? '',
    client_id: provider?.client_id ?? '',
    client_secret: provider ? secretText(provider) : '',
    allowed_domains: provider?.allowed_domains?.join(', ') ?? '',
    roles: Object.entries(roles)
      .map(([group, role]) => `${group}: ${role}`)
      .join('\n'),
    scopes: provider?.scopes?.join(' ') ?? '',
    name_claim: provider?.name_claim ?? '',
    email_claim: provider?.email_claim ?? '',
    groups_claim: provider?.groups_claim ?? '',
  };
}

/** The reference to the secret of a client. */
export function secretText({
  client_secret: secret,
}: Pick<PutTenantSignIn, 'client_secret'>): string {
  return typeof secret === 'string' ? secret : `$file: ${secret.$file}`;
}

/** What is sent of a form. The backend says what is wrong with it, and stores no secret. */
export function toProvider(
  texts: SignInTexts,
  auto_join?: TenantRole,
): PutTenantSignIn {
  const text = (field: TextField) => texts[field].trim();
  const secret = text('client_secret');
  const parts = (field: TextField, separator: RegExp) =>
    text(field).split(separator).filter(Boolean);
  const domains = parts('allowed_domains', /[\s,]+/);
  const scopes = parts('scopes', /\s+/);
  const roles = parts('roles', /\s*\n\s*/).map(roleOfGroup);
  const claims = (['name_claim', 'email_claim', 'groups_claim'] as const)
    .filter(text)
    .map(field => [field, text(field)]);
  return {
    issuer: text('issuer'),
    client_id: text('client_id'),
    client_secret: FILE.test(secret)
      ? { $file: secret.replace(FILE, '') }
      : secret,
    ...(auto_join && { auto_join }),
    ...(domains.length > 0 && { allowed_domains: domains }),
    ...(scopes.length > 0 && { scopes }),
    ...(roles.length > 0 && { roles: Object.fromEntries(roles) }),
    ...Object.fromEntries(claims),
  };
}

/** The names of groups may have a colon, and those of roles have none. */
function roleOfGroup(line: string): [string, string] {
  const end = line.lastIndexOf(':');
  return end < 0
    ? [line, '']
    : [line.slice(0, end).trim(), line.slice(end + 1).trim()];
}
