import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import type { Entity } from '@backstage/catalog-model';
import { NotAllowedError } from '@backstage/errors';
import {
  AuthorizeResult,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import { createPermissionRule } from '@backstage/plugin-permission-node';
import { catalogEntityPermissionResourceRef } from '@backstage/plugin-catalog-node/alpha';
import { component } from '@internal/catalog-testing/entities';
import { memoryStore } from '../__testUtils__/memoryStore';
import { AuthorizedCatalogStore } from './AuthorizedCatalogStore';

const rule = createPermissionRule({
  name: 'HAS_KEY',
  description: 'Has a key',
  resourceRef: catalogEntityPermissionResourceRef,
  apply: entity => entity.metadata.key === 'x',
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
  const entity = component('a');
  const ref = 'component:default/a';

  function create(
    decision: PolicyDecision,
    {
      store = memoryStore([entity]),
      signal,
    }: { store?: ReturnType<typeof memoryStore>; signal?: AbortSignal } = {},
  ) {
    const permissions = mockServices.permissions.mock({
      authorizeConditional: async () => [decision],
    });
    const authorized = new AuthorizedCatalogStore({
      store,
      signal,
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

  it('hands on when the caller goes, and that only the first read may be refused', async () => {
    const { signal } = new AbortController();
    const { authorized, store } = create(
      { result: AuthorizeResult.ALLOW },
      { signal },
    );
    store.readPage.mockRejectedValueOnce(new Error('refused'));
    await expect(authorized.readPage('t', { limit: 1 })).rejects.toThrow(
      'refused',
    );
    await authorized.readPage('t', { limit: 1 });
    await authorized.readPage('t', { limit: 1 });
    await authorized.getAncestry('t', ref);
    const query = { limit: 1 };
    for (const [index, options] of [
      { signal },
      { signal },
      { signal, continues: true },
    ].entries()) {
      expect(store.readPage).toHaveBeenNthCalledWith(
        index + 1,
        't',
        query,
        options,
      );
    }
    expect(store.getAncestry).toHaveBeenLastCalledWith('t', ref, {
      signal,
      continues: true,
    });
  });

  describe('with an ancestry', () => {
    const readable = (name: string) =>
      component(name, { metadata: { name, key: 'x' } });
    const items = (...entities: Array<[Entity, ...string[]]>) =>
      entities.map(([each, ...parents]) => ({
        entity: each,
        parentEntityRefs: parents.map(name => `component:default/${name}`),
      }));
    const ancestryOf = async (...given: Array<[Entity, ...string[]]>) => {
      const store = memoryStore([]);
      store.getAncestry.mockResolvedValue({
        rootEntityRef: ref,
        items: items(...given),
      });
      const { authorized } = create(conditional, { store });
      const ancestry = await authorized.getAncestry('t', ref);
      expect(ancestry?.rootEntityRef).toBe(ref);
      return ancestry?.items;
    };

    it('leaves out what may not be read, and what that comes from', async () => {
      await expect(
        ancestryOf(
          [readable('a'), 'b', 'e'],
          [component('b'), 'c'],
          [readable('c'), 'd'],
          [readable('d'), 'b'],
          [readable('e'), 'f'],
          [readable('f')],
        ),
      ).resolves.toEqual(
        items([readable('a'), 'b', 'e'], [readable('e'), 'f'], [readable('f')]),
      );
    });

    it('leaves out what something readable comes from too', async () => {
      await expect(
        ancestryOf(
          [readable('a'), 'b', 'c'],
          [component('b'), 'c'],
          [readable('c')],
        ),
      ).resolves.toEqual(items([readable('a'), 'b', 'c']));
    });

    it('has none of what may not be read, or is not there', async () => {
      await expect(ancestryOf([component('a')])).rejects.toThrow(
        NotAllowedError,
      );
      const { authorized } = create(conditional);
      await expect(authorized.getAncestry('t', 'a:b/c')).rejects.toThrow(
        NotAllowedError,
      );
    });
  });
});
