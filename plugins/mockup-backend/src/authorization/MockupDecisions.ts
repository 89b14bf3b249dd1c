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

/** The permission decisions for one caller. */
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

  /** For each permission, a filter of the mockups for which the caller has it. */
  async on(...permissions: ResourcePermission[]): Promise<MockupReadOptions[]> {
    const decisions = await this.#permissions.authorizeConditional(
      permissions.map(permission => ({ permission })),
      { credentials: this.#credentials },
    );
    return decisions.map(decision => this.#toOptions(decision));
  }

  /** Whether the caller has a permission that concerns no single mockup. */
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

/** Combines the filters of two options with AND. */
export function both<TOptions extends MockupReadOptions>(
  options: TOptions,
  { filter }: MockupReadOptions,
): TOptions {
  return options.filter && filter
    ? { ...options, filter: { allOf: [options.filter, filter] } }
    : { ...options, filter: filter ?? options.filter };
}
