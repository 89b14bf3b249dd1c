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
  const visible = { 'metadata.key': 'x' };
  const entity = component('a');
  const json = JSON.stringify(entity);
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

  it('shows everything where reading is allowed', async () => {
    const { authorized, store } = create({ result: AuthorizeResult.ALLOW });
    await expect(authorized.readEntities('t')).resolves.toEqual([json]);
    await expect(
      authorized.readEntitiesByRefs('t', [ref], { filter: visible }),
    ).resolves.toEqual([json]);
    await expect(
      authorized.readPage('t', { limit: 1, total: true }),
    ).resolves.toEqual({
      rows: [{ json, entityId: ref }],
      totalItems: 1,
    });
    await expect(
      authorized.countFacets('t', { facets: ['kind'] }),
    ).resolves.toEqual({ kind: [{ value: 'x', count: 1 }] });
    await expect(authorized.getAncestry('t', ref)).resolves.toEqual({
      rootEntityRef: ref,
      items: [{ entity, parentEntityRefs: [] }],
    });
    await expect(authorized.getAncestry('t', 'a:b/c')).resolves.toBeUndefined();
    expect(store.readEntities).toHaveBeenCalledWith('t', {}, {});
    expect(store.readEntitiesByRefs).toHaveBeenCalledWith('t', [ref], {
      filter: visible,
      continues: true,
    });
  });

  it('shows nothing where reading is denied, and does not look either', async () => {
    const { authorized, store } = create({ result: AuthorizeResult.DENY });
    await expect(authorized.readEntities('t')).resolves.toEqual([]);
    await expect(
      authorized.readEntitiesByRefs('t', [ref, ref]),
    ).resolves.toEqual([null, null]);
    await expect(
      authorized.readPage('t', { limit: 1 }),
    ).resolves.toBeUndefined();
    await expect(
      authorized.countFacets('t', { facets: ['kind', 'spec.type'] }),
    ).resolves.toEqual({ kind: [], 'spec.type': [] });
    await expect(authorized.getAncestry('t', ref)).rejects.toThrow(
      NotAllowedError,
    );
    for (const read of Object.values(store)) {
      expect(read).not.toHaveBeenCalled();
    }
  });

  it('joins conditions with what the request asks for', async () => {
    const { authorized, store, permissions } = create(conditional);
    const asked = { kind: 'api' };
    const joined = { $all: [visible, asked] };
    await authorized.readEntities('t', { limit: 1 });
    expect(store.readEntities).toHaveBeenLastCalledWith(
      't',
      { limit: 1, filter: visible },
      {},
    );
    await authorized.readEntities('t', { filter: asked });
    expect(store.readEntities).toHaveBeenLastCalledWith(
      't',
      { filter: joined },
      { continues: true },
    );
    await authorized.readEntitiesByRefs('t', [ref], { filter: asked });
    expect(store.readEntitiesByRefs).toHaveBeenLastCalledWith('t', [ref], {
      filter: joined,
      continues: true,
    });
    await authorized.readPage('t', { limit: 1, filter: asked });
    expect(store.readPage).toHaveBeenLastCalledWith(
      't',
      { limit: 1, filter: joined },
      { continues: true },
    );
    await authorized.countFacets('t', { facets: ['kind'] });
    expect(store.countFacets).toHaveBeenLastCalledWith(
      't',
      { facets: ['kind'], filter: visible },
      { continues: true },
    );
    expect(permissions.authorizeConditional).toHaveBeenCalledTimes(1);
  });

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
