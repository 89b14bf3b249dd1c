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

/** The credentials of a user or a service, the callers that can be administrators. */
export type CallerCredentials = BackstageCredentials<
  BackstageUserPrincipal | BackstageServicePrincipal
>;

/** What `created_by` and `updated_by` say of a caller. */
export function nameOf({ principal }: CallerCredentials): string {
  return principal.type === 'user'
    ? principal.userEntityRef
    : principal.subject;
}

/**
 * Who may administer tenants: the callers that the configuration lists, and with
 * `adminsByPermission` also the users that the permission policy allows.
 *
 * The policy alone would not do: with permissions disabled, as in a new backend,
 * Backstage allows everything to every user; and it always allows everything to
 * services, tenants' tokens included.
 */
export class Administrators {
  readonly #config: AdministratorsConfig;
  readonly #permissions: PermissionsService;

  /** @throws InputError if the configuration is not as expected */
  static create(options: {
    config: RootConfigService;
    permissions: PermissionsService;
  }): Administrators {
    return new Administrators(
      readAdministrators(options.config),
      options.permissions,
    );
  }

  private constructor(
    config: AdministratorsConfig,
    permissions: PermissionsService,
  ) {
    this.#config = config;
    this.#permissions = permissions;
  }

  /** Whether `tenancy.admins` lists the caller. */
  isListed({ principal }: CallerCredentials): boolean {
    const { users, services } = this.#config;
    return principal.type === 'service'
      ? services.has(principal.subject)
      : users.has(normalizeUserRef(principal.userEntityRef));
  }

  /** Whether the caller may do what the permission is for. */
  async may(
    credentials: CallerCredentials,
    permission: BasicPermission,
  ): Promise<boolean> {
    const { principal } = credentials;
    return (
      isWithinRestrictions(principal, permission) &&
      (this.isListed(credentials) ||
        (principal.type === 'user' &&
          (await this.#isAllowed(credentials, permission))))
    );
  }

  /** @throws NotAllowedError if the caller may not do what the permission is for */
  async assertMay(
    credentials: CallerCredentials,
    permission: BasicPermission,
  ): Promise<void> {
    if (!(await this.may(credentials, permission))) {
      throw new NotAllowedError(
        `You may not ${permission.attributes.action} tenants: that is for ` +
          'administrators, whom tenancy.admins lists',
      );
    }
  }

  async #isAllowed(
    credentials: CallerCredentials,
    permission: BasicPermission,
  ): Promise<boolean> {
    if (!this.#config.byPermission) {
      return false;
    }
    const [{ result }] = await this.#permissions.authorize([{ permission }], {
      credentials,
    });
    return result === AuthorizeResult.ALLOW;
  }
}

/** The token of a service can be restricted to some permissions. */
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
