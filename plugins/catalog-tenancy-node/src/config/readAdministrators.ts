import type { Config } from '@backstage/config';
import { InputError } from '@backstage/errors';

const ADMINS = 'tenancy.admins';
const BY_PERMISSION = 'tenancy.adminsByPermission';
const USER = /^user:[^\s/:]+\/[^\s/:]+$/i;
const EXPECTED =
  'a user as user:<namespace>/<name>, or the subject of a service such as ' +
  'plugin:<plugin id> or external:<subject>';

/**
 * The administrators of tenants in the configuration.
 *
 * @public
 */
export interface AdministratorsConfig {
  /** References of users, in lower case. */
  users: ReadonlySet<string>;
  /** Subjects of services. */
  services: ReadonlySet<string>;
  /** Whether the permission policy may make users administrators. */
  byPermission: boolean;
}

/**
 * Reads `tenancy.admins` and `tenancy.adminsByPermission`.
 *
 * @throws `InputError` that names the key, the bad value and what is expected
 * @public
 */
export function readAdministrators(config: Config): AdministratorsConfig {
  const entries = config.getOptionalStringArray(ADMINS) ?? [];
  const [wrong] = entries.filter(entry => !isPrincipal(entry));
  if (wrong !== undefined) {
    throw new InputError(
      `Invalid ${ADMINS}: got '${wrong}', expected ${EXPECTED}`,
    );
  }
  const users = entries.filter(isUser);
  const services = entries.filter(entry => !isUser(entry));
  return {
    users: new Set(users.map(normalizeUserRef)),
    services: new Set(services),
    byPermission: readByPermission(config),
  };
}

/**
 * Lower-cases a user's ref, as Backstage's are, so that any spelling matches.
 *
 * @public
 */
export function normalizeUserRef(userEntityRef: string): string {
  return userEntityRef.toLocaleLowerCase('en-US');
}

function readByPermission(config: Config): boolean {
  const byPermission = config.getOptionalBoolean(BY_PERMISSION) ?? false;
  // Without the permission framework, Backstage allows everything to every user.
  if (byPermission && !config.getOptionalBoolean('permission.enabled')) {
    throw new InputError(
      `Invalid ${BY_PERMISSION}: got true while permission.enabled is not, which ` +
        'would make every user an administrator. Expected permission.enabled: true ' +
        'with a policy that decides on tenancy.tenant.*',
    );
  }
  return byPermission;
}

function isPrincipal(entry: string): boolean {
  return isUser(entry)
    ? USER.test(entry)
    : /^\S+$/.test(entry) && !/^group:/i.test(entry);
}

function isUser(entry: string): boolean {
  return /^user:/i.test(entry);
}
