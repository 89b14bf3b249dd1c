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

  /** The token of a listed service can still be restricted to some permissions. */
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
