import type {
  BackstageCredentials,
  PermissionsService,
} from '@backstage/backend-plugin-api';
import {
  AuthorizeResult,
  type BasicPermission,
  type PolicyDecision,
  type ResourcePermission,
} from '@backstage/plugin-permission-common';
import {
  createConditionTransformer,
  type PermissionRuleset,
} from '@backstage/plugin-permission-node';
import type { Mockup } from 'backstage-plugin-mockup-common';
import type {
  MockupCondition,
  MockupFilter,
  MockupReadOptions,
} from 'backstage-plugin-mockup-node';

const NOTHING: MockupFilter = { id: [] };

/** What the permission policy lets one caller do. */
export class MockupDecisions {
  readonly #permissions: PermissionsService;
  readonly #ruleset: PermissionRuleset<Mockup, MockupCondition>;
  readonly #credentials: BackstageCredentials;

  constructor(options: {
    permissions: PermissionsService;
    ruleset: PermissionRuleset<Mockup, MockupCondition>;
    credentials: BackstageCredentials;
  }) {
    this.#permissions = options.permissions;
    this.#ruleset = options.ruleset;
    this.#credentials = options.credentials;
  }

  /** Of each permission, with which mockups the caller may do that. */
  async on(...permissions: ResourcePermission[]): Promise<MockupReadOptions[]> {
    const decisions = await this.#permissions.authorizeConditional(
      permissions.map(permission => ({ permission })),
      { credentials: this.#credentials },
    );
    return decisions.map(decision => this.#toOptions(decision));
  }

  /** Whether the caller may do what is about no mockup. */
  async may(permission: BasicPermission): Promise<boolean> {
    const [{ result }] = await this.#permissions.authorize([{ permission }], {
      credentials: this.#credentials,
    });
    return result === AuthorizeResult.ALLOW;
  }

  #toOptions(decision: PolicyDecision): MockupReadOptions {
    if (decision.result === AuthorizeResult.CONDITIONAL) {
      const toFilter = createConditionTransformer(this.#ruleset);
      return { filter: toFilter(decision.conditions) };
    }
    return decision.result === AuthorizeResult.ALLOW ? {} : { filter: NOTHING };
  }
}

/** The options of an operation, of which both filters hold. */
export function both<TOptions extends MockupReadOptions>(
  options: TOptions,
  { filter }: MockupReadOptions,
): TOptions {
  return options.filter && filter
    ? { ...options, filter: { allOf: [options.filter, filter] } }
    : { ...options, filter: filter ?? options.filter };
}
