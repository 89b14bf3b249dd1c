import type {
  BackstageCredentials,
  BackstageServicePrincipal,
  BackstageUserPrincipal,
  UserInfoService,
} from '@backstage/backend-plugin-api';
import {
  InputError,
  isError,
  ServiceUnavailableError,
} from '@backstage/errors';
import { withoutTenant } from '../tenants/calls';

const EXPECTED =
  'a user as user:<namespace>/<name>, a group as group:<namespace>/<name>, or the ' +
  'subject of an external service as it is configured, such as external:<subject>';

const LONGEST = 512;
const REFERENCE = /^[a-z]+:[^\s/:]+\/[^\s/:]+$/i;
const MEMBER_KINDS = /^(user|group):/i;

// They are in the default tenant, or in the one tenant that a token names, and never
// members.
const NO_MEMBERS = /^(plugin|tenant):/i;

// Beside spaces: PostgreSQL keeps no NUL character, and a lone surrogate has no UTF-8
// form.
const UNFIT = /[\s\p{Cc}\p{Surrogate}]/u;

/**
 * Parses a principal that is or may become a member of a tenant.
 *
 * @returns it as it is stored: references in lower case, subjects as they are
 * @throws `InputError` that names the value and the expected forms
 * @public
 */
export function parsePrincipal(principal: string): string {
  const isFit =
    principal !== '' && principal.length <= LONGEST && !UNFIT.test(principal);
  if (!isFit || !isMember(principal)) {
    throw new InputError(
      `Invalid principal: got ${quotePrincipal(
        principal,
      )}, expected ${EXPECTED}`,
    );
  }
  return normalizePrincipal(principal);
}

/**
 * A principal as it is stored. Backstage's references are in lower case, so any
 * spelling matches.
 *
 * @public
 */
export function normalizePrincipal(principal: string): string {
  return MEMBER_KINDS.test(principal)
    ? principal.toLocaleLowerCase('en-US')
    : principal;
}

/**
 * The principals by which a caller may be a member: the references of a user and of what
 * the user belongs to, as the sign-in put them into the token, or the subject of a service.
 *
 * @throws `ServiceUnavailableError` where the auth plugin does not say what a user belongs to
 * @public
 */
export async function principalsOf(
  credentials: BackstageCredentials<
    BackstageUserPrincipal | BackstageServicePrincipal
  >,
  userInfo: UserInfoService,
): Promise<string[]> {
  const { principal } = credentials;
  if (principal.type === 'service') {
    // A service does not become a user or a group by its subject.
    return MEMBER_KINDS.test(principal.subject) ? [] : [principal.subject];
  }
  const refs = await ownershipOf(credentials, userInfo);
  return [
    ...new Set([principal.userEntityRef, ...refs].map(normalizePrincipal)),
  ];
}

async function ownershipOf(
  credentials: BackstageCredentials,
  userInfo: UserInfoService,
): Promise<string[]> {
  try {
    const { ownershipEntityRefs } = await userInfo.getUserInfo(
      // In a tenant they are what the tenant's own catalog says.
      withoutTenant(credentials),
    );
    // A resolver may claim anything else, such as the subject of a service.
    return ownershipEntityRefs.filter(ref => MEMBER_KINDS.test(ref));
  } catch (error) {
    if (isError(error) && error.statusCode === 404) {
      // The auth plugin knows only those whom it has signed in itself.
      return [];
    }
    throw new ServiceUnavailableError(
      "The groups of the user can't be found out at the moment",
      error,
    );
  }
}

function isMember(principal: string): boolean {
  if (MEMBER_KINDS.test(principal)) {
    return REFERENCE.test(principal);
  }
  // A subject may hold colons and slashes, but must not be taken for an entity: only
  // users and groups are members.
  return (
    !NO_MEMBERS.test(principal) &&
    (/^external:/.test(principal) || !REFERENCE.test(principal))
  );
}

function quotePrincipal(principal: string): string {
  return principal.length > LONGEST
    ? `a text of ${principal.length} characters`
    : JSON.stringify(principal);
}
