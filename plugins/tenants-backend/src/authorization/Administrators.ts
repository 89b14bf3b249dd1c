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
} from './readAdministrators';

/** The credentials of somebody who may turn out to be an administrator. */
export type CallerCredentials = BackstageCredentials<
  BackstageUserPrincipal | BackstageServicePrincipal
>;

/**
 * Who may administer tenants: whom the configuration lists, and nobody else, unless
 * it says that the permission policy may name users too.
 *
 * Not the policy alone: Backstage allows everything to everybody where permissions
 * are disabled, and does so in a backend that has just been created; and it allows
 * everything to services, to whoever holds a tenant's token among them.
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

  /** @throws NotAllowedError if the caller may not do what the permission is for */
  async assertMay(
    credentials: CallerCredentials,
    permission: BasicPermission,
  ): Promise<void> {
    const { principal } = credentials;
    const may =
      principal.type === 'service'
        ? this.#mayService(principal, permission)
        : this.#isListed(principal) ||
          (await this.#isAllowed(credentials, permission));
    if (!may) {
      throw new NotAllowedError(
        `You may not ${permission.attributes.action} tenants: that is for ` +
          'administrators, whom tenancy.admins lists',
      );
    }
  }

  #isListed({ userEntityRef }: BackstageUserPrincipal): boolean {
    return this.#config.users.has(normalizeUserRef(userEntityRef));
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

  /** A token can be restricted to some permissions, also that of one who is listed. */
  #mayService(
    { subject, accessRestrictions }: BackstageServicePrincipal,
    { name, attributes }: BasicPermission,
  ): boolean {
    const { permissionNames, permissionAttributes } = accessRestrictions ?? {};
    const actions = permissionAttributes?.action;
    return (
      this.#config.services.has(subject) &&
      (!permissionNames || permissionNames.includes(name)) &&
      (!actions ||
        (attributes.action !== undefined &&
          actions.includes(attributes.action)))
    );
  }
}
