import type {
  BackstageCredentials,
  BackstageServicePrincipal,
  BackstageUserPrincipal,
  LoggerService,
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

// Plugins act in the default tenant, tokens in the tenant they name; neither can be a member.
const NO_MEMBERS = /^(plugin|tenant):/i;

// Spaces; NUL, which PostgreSQL does not store; lone surrogates, which UTF-8 cannot encode.
const UNFIT = /[\s\p{Cc}\p{Surrogate}]/u;

/**
 * Parses a principal that is or may become a member of a tenant.
 *
 * @returns the stored form: refs in lower case, subjects unchanged
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
 * The stored form of a principal. Refs are lower-cased, as Backstage's are, so any spelling
 * matches.
 *
 * @public
 */
export function normalizePrincipal(principal: string): string {
  return MEMBER_KINDS.test(principal)
    ? principal.toLocaleLowerCase('en-US')
    : principal;
}

/**
 * The principals that can make a caller a member: the refs of a user and of the user's groups
 * from the sign-in, or the subject of a service.
 *
 * @throws `ServiceUnavailableError` if the auth plugin does not answer
 * @public
 */
export async function principalsOf(
  credentials: BackstageCredentials<
    BackstageUserPrincipal | BackstageServicePrincipal
  >,
  options: { userInfo: UserInfoService; logger: LoggerService },
): Promise<string[]> {
  const { principal } = credentials;
  if (principal.type === 'service') {
    // The subject of a service must not impersonate a user or a group.
    return MEMBER_KINDS.test(principal.subject) ? [] : [principal.subject];
  }
  const refs = await signInRefsOf(credentials, options);
  return [
    ...new Set([principal.userEntityRef, ...refs].map(normalizePrincipal)),
  ];
}

/**
 * The refs of users and groups that a user may act for, as the sign-in resolver returned them.
 *
 * @throws `ServiceUnavailableError` if the auth plugin does not answer
 * @public
 */
export async function signInRefsOf(
  credentials: BackstageCredentials,
  options: { userInfo: UserInfoService; logger: LoggerService },
): Promise<string[]> {
  try {
    const { ownershipEntityRefs } = await options.userInfo.getUserInfo(
      // With a tenant, the auth plugin would return refs of the tenant's own catalog.
      withoutTenant(credentials),
    );
    // A sign-in resolver may return other refs, such as the subject of a service.
    return ownershipEntityRefs.filter(ref => MEMBER_KINDS.test(ref));
  } catch (error) {
    if (isError(error) && error.statusCode === 404) {
      // The auth plugin knows only users that it signed in itself.
      return [];
    }
    // The error may name hosts, so it is only logged.
    options.logger.warn(`The groups of a user cannot be read: ${error}`);
    throw new ServiceUnavailableError(
      'The groups of the user cannot be read at the moment',
    );
  }
}

function isMember(principal: string): boolean {
  if (MEMBER_KINDS.test(principal)) {
    return REFERENCE.test(principal);
  }
  // A subject may contain colons and slashes, but must not look like an entity ref of another
  // kind.
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
