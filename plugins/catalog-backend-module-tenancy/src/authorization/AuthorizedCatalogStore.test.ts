import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import {
  AuthorizeResult,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import { createPermissionRule } from '@backstage/plugin-permission-node';
import { catalogEntityPermissionResourceRef } from '@backstage/plugin-catalog-node/alpha';
import { component } from '../__testUtils__/entities';
import { memoryStore } from '../__testUtils__/memoryStore';
import { AuthorizedCatalogStore } from './AuthorizedCatalogStore';

const rule = createPermissionRule({
  name: 'HAS_KEY',
  description: 'Has a key',
  resourceRef: catalogEntityPermissionResourceRef,
  apply: () => true,
  toQuery: () => ({ key: 'metadata.key', values: ['x'] }),
});

const conditional = {
  result: AuthorizeResult.CONDITIONAL,
  pluginId: 'catalog',
  resourceType: 'catalog-entity',
  conditions: {
    rule: 'HAS_KEY',
    resourceType: 'catalog-entity',
    params: {},
  },
} as PolicyDecision;

describe('AuthorizedCatalogStore', () => {
  const visible = { 'metadata.key': 'x' };
  const entity = component('a');
  const ref = 'component:default/a';

  function create(decision: PolicyDecision) {
    const store = memoryStore([entity]);
    const permissions = mockServices.permissions.mock({
      authorizeConditional: async () => [decision],
    });
    const authorized = new AuthorizedCatalogStore({
      store,
      permissions,
      credentials: mockCredentials.user(),
      getRuleset: () => ({
        getRuleByName: name => {
          if (name !== rule.name) {
            throw new Error(`No rule ${name}`);
          }
          return rule;
        },
      }),
    });
    return { authorized, store, permissions };
  }

  it('shows everything where reading is allowed', async () => {
    const { authorized, store } = create({ result: AuthorizeResult.ALLOW });
    await expect(authorized.queryEntities('t')).resolves.toEqual([entity]);
    await expect(
      authorized.getEntitiesByRefs('t', [ref], { filter: visible }),
    ).resolves.toEqual([entity]);
    expect(store.queryEntities).toHaveBeenCalledWith('t', {});
    expect(store.getEntitiesByRefs).toHaveBeenCalledWith('t', [ref], {
      filter: visible,
    });
  });

  it('shows nothing where reading is denied, and does not look either', async () => {
    const { authorized, store } = create({ result: AuthorizeResult.DENY });
    await expect(authorized.queryEntities('t')).resolves.toEqual([]);
    await expect(
      authorized.getEntitiesByRefs('t', [ref, ref]),
    ).resolves.toEqual([null, null]);
    expect(store.queryEntities).not.toHaveBeenCalled();
    expect(store.getEntitiesByRefs).not.toHaveBeenCalled();
  });

  it('joins conditions with what the request asks for', async () => {
    const { authorized, store, permissions } = create(conditional);
    await authorized.queryEntities('t', { limit: 1 });
    expect(store.queryEntities).toHaveBeenLastCalledWith('t', {
      limit: 1,
      filter: visible,
    });
    await authorized.queryEntities('t', { filter: { kind: 'api' } });
    expect(store.queryEntities).toHaveBeenLastCalledWith('t', {
      filter: { $all: [visible, { kind: 'api' }] },
    });
    await authorized.getEntitiesByRefs('t', [ref], { filter: { kind: 'api' } });
    expect(store.getEntitiesByRefs).toHaveBeenLastCalledWith('t', [ref], {
      filter: { $all: [visible, { kind: 'api' }] },
    });
    expect(permissions.authorizeConditional).toHaveBeenCalledTimes(1);
  });
});
