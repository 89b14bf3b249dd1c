import type {
  BackstageCredentials,
  BackstageServicePrincipal,
  BackstageUserPrincipal,
  PermissionsService,
  RootConfigService,
} from '@backstage/backend-plugin-api';
import { NotAllowedError } from '@backstage/errors';
import {
  AuthorizeResult,
  type BasicPermission,
} from '@backstage/plugin-permission-common';
import {
  type AdministratorsConfig,
  normalizeUserRef,
  readAdministrators,
} from 'backstage-plugin-catalog-tenancy-node';

/** The credentials of a user or a service; only these can be administrators. */
export type CallerCredentials = BackstageCredentials<
  BackstageUserPrincipal | BackstageServicePrincipal
>;

/** The name of a caller for `created_by` and `updated_by`. */
export function nameOf({ principal }: CallerCredentials): string {
  return principal.type === 'user'
    ? principal.userEntityRef
    : principal.subject;
}

/**
 * Decides who may administer tenants: callers in `tenancy.admins`, and with
 * `adminsByPermission` also users whom the permission policy allows.
 *
 * The policy alone is not sufficient: with permissions disabled, as in a new backend, Backstage
 * allows everything to every user, and it always allows everything to services, including
 * tenants' tokens.
 */
export class Administrators {
  readonly #config: AdministratorsConfig;
  readonly #permissions: PermissionsService;

  /** @throws InputError for invalid configuration */
  constructor(options: {
    config: RootConfigService;
    permissions: PermissionsService;
  }) {
    this.#config = readAdministrators(options.config);
    this.#permissions = options.permissions;
  }

  /** Whether `tenancy.admins` lists the caller. */
  isListed({ principal }: CallerCredentials): boolean {
    const { users, services } = this.#config;
    return principal.type === 'service'
      ? services.has(principal.subject)
      : users.has(normalizeUserRef(principal.userEntityRef));
  }

  /** Whether the caller has a permission. */
  async may(
    credentials: CallerCredentials,
    permission: BasicPermission,
  ): Promise<boolean> {
    const { principal } = credentials;
    return (
      isWithinRestrictions(principal, permission) &&
      (this.isListed(credentials) ||
        (principal.type === 'user' &&
          this.#config.byPermission &&
          (await isAllowed(this.#permissions, permission, credentials))))
    );
  }

  /** @throws NotAllowedError if the caller lacks the permission */
  async assertMay(
    credentials: CallerCredentials,
    permission: BasicPermission,
  ): Promise<void> {
    if (!(await this.may(credentials, permission))) {
      throw new NotAllowedError(
        `You may not ${permission.attributes.action} tenants: only ` +
          'administrators in tenancy.admins may',
      );
    }
  }
}

/** Whether the permission policy allows it. */
export async function isAllowed(
  permissions: PermissionsService,
  permission: BasicPermission,
  credentials: CallerCredentials,
): Promise<boolean> {
  const [{ result }] = await permissions.authorize([{ permission }], {
    credentials,
  });
  return result === AuthorizeResult.ALLOW;
}

/** Whether the access restrictions of a service's token include a permission. */
export function isWithinRestrictions(
  principal: CallerCredentials['principal'],
  { name, attributes }: BasicPermission,
): boolean {
  const { permissionNames, permissionAttributes } =
    (principal.type === 'service' && principal.accessRestrictions) || {};
  const actions = permissionAttributes?.action;
  return (
    (!permissionNames || permissionNames.includes(name)) &&
    (!actions ||
      (attributes.action !== undefined && actions.includes(attributes.action)))
  );
}
