import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import type { Entity } from '@backstage/catalog-model';
import {
  catalogConditions,
  createCatalogConditionalDecision,
} from '@backstage/plugin-catalog-backend/alpha';
import {
  catalogEntityDeletePermission,
  catalogEntityReadPermission,
} from '@backstage/plugin-catalog-common/alpha';
import {
  AuthorizeResult,
  isPermission,
} from '@backstage/plugin-permission-common';
import type { PermissionPolicy } from '@backstage/plugin-permission-node';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { createTestDatabases } from '@internal/postgres/testUtils';
import {
  DEFAULT_TENANT_ID,
  type TenantRole,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { startPeopleBackend } from './__testUtils__/startPeopleBackend';
import { TenantPolicy } from './__testUtils__/tenantPolicy';
import { Ownership } from './Ownership';

const databases = createTestDatabases({ versions: 'newest' });

const TEAM = 'group:default/team';
const CREW = 'group:default/crew';
const ADMINS = 'group:default/portal-admins';
const ref = (name: string) => `user:default/${name}`;

/** Who is in which groups according to the sign-in, which reads the default tenant's catalog. */
const IDENTITIES = {
  anna: [TEAM, CREW],
  bert: [TEAM],
  carl: [],
  mallory: [],
};

/** Each tenant has all of these, and in each they are somebody else's. */
const COMPONENTS = {
  annas: ref('anna'),
  berts: ref('bert'),
  teams: TEAM,
  crews: CREW,
};

const entity = (
  kind: string,
  name: string,
  ...relations: Array<[string, string]>
): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind,
  metadata: { name, namespace: 'default' },
  spec: {},
  relations: relations.map(([type, targetRef]) => ({ type, targetRef })),
});

const CATALOGS: Record<
  string,
  { members: Record<string, TenantRole>; people: Entity[] }
> = {
  acme: {
    members: {
      [ref('anna')]: 'member',
      [ref('bert')]: 'member',
      [ref('carl')]: 'admin',
      [CREW]: 'viewer',
    },
    people: [
      entity('User', 'anna', ['memberOf', TEAM]),
      entity('User', 'bert'),
      entity('Group', 'team', ['hasMember', ref('anna')]),
    ],
  },
  globex: {
    members: {
      [ref('anna')]: 'member',
      [ref('bert')]: 'member',
      [ref('carl')]: 'viewer',
    },
    // It has no entities of users.
    people: [entity('Group', 'team', ['hasMember', ref('bert')])],
  },
  initech: {
    members: { [ref('anna')]: 'viewer', [ref('mallory')]: 'viewer' },
    // It claims what the identity catalog has.
    people: [
      entity('User', 'mallory', ['memberOf', ADMINS], ['memberOf', CREW]),
      entity('User', 'root', ['memberOf', ADMINS]),
      entity('Group', 'portal-admins', ['hasMember', ref('mallory')]),
      entity('Group', 'crew', ['hasMember', ref('mallory')]),
      entity('Group', 'team'),
    ],
  },
};

/** By tenant and user: who they are there, what they own, and what they may delete. */
const CELLS: Array<
  [string, keyof typeof IDENTITIES, string[] | undefined, string[], string[]]
> = [
  [
    'acme',
    'anna',
    [TEAM, CREW],
    ['annas', 'crews', 'teams'],
    ['annas', 'crews', 'teams'],
  ],
  ['acme', 'bert', [], ['berts'], ['berts']],
  ['acme', 'carl', [], [], ['annas', 'berts', 'crews', 'teams']],
  ['acme', 'mallory', undefined, [], []],
  ['globex', 'anna', [], ['annas'], ['annas']],
  ['globex', 'bert', [TEAM], ['berts', 'teams'], ['berts', 'teams']],
  ['globex', 'carl', [], [], []],
  ['globex', 'mallory', undefined, [], []],
  ['initech', 'anna', [], ['annas'], []],
  ['initech', 'bert', undefined, [], []],
  ['initech', 'mallory', [ADMINS, CREW], ['crews'], []],
  // As without tenants. About deleting, the stock engine decides there, which has none of these.
  ['default', 'anna', [TEAM, CREW], ['annas', 'crews', 'teams'], []],
  ['default', 'bert', [TEAM], ['berts', 'teams'], []],
  ['default', 'carl', [], [], []],
];

it('keeps the groups of a user by a hash of the token, and no token', async () => {
  const keeps = jest.spyOn(LRUCache.prototype, 'set');
  const ownership = new Ownership({ logger: mockServices.logger.mock() });
  const getUserInfo = jest.fn(async () => ({
    userEntityRef: ref('anna'),
    ownershipEntityRefs: [TEAM],
  }));
  const ask = (token: string, user = 'anna') =>
    ownership.refsOf(
      { headers: { authorization: `Bearer ${token}` } } as Request,
      mockCredentials.user(ref(user)),
      { getUserInfo },
    );
  const obo = { obo: 'of-a-plugin' };
  const payload = Buffer.from(JSON.stringify(obo)).toString('base64url');
  for (const token of [
    'of-anna',
    'of-anna',
    `a.${payload}.c`,
    `d.${payload}`,
  ]) {
    await expect(ask(token)).resolves.toEqual([TEAM]);
  }
  // One for each user token, although each call of a plugin has a token of its own.
  expect(getUserInfo).toHaveBeenCalledTimes(2);
  const keys = keeps.mock.calls.map(([key]) => String(key));
  expect(keys).toHaveLength(2);
  expect(keys.join()).not.toMatch(/of-anna|of-a-plugin/);

  // Backstage has not verified this token where the user comes from a cookie.
  getUserInfo.mockRejectedValueOnce(new Error('No answer'));
  await expect(ask('of-anna', 'bert')).rejects.toThrow();
  await expect(ask('of-anna', 'bert')).resolves.toEqual([TEAM]);
  expect(getUserInfo).toHaveBeenCalledTimes(4);
});

describe.each(databases.eachSupportedId())(
  'what is whose in which tenant on %s',
  id => {
    let backend: Awaited<ReturnType<typeof startPeopleBackend>>;
    const tenantPolicy = new TenantPolicy();
    /** The claims with which the policy was asked. */
    let claims: string[] = [];
    const policy: PermissionPolicy = {
      async handle(query, user) {
        claims = user?.info.ownershipEntityRefs ?? [];
        return isPermission(query.permission, catalogEntityReadPermission)
          ? createCatalogConditionalDecision(
              query.permission,
              catalogConditions.isEntityOwner({ claims }),
            )
          : tenantPolicy.handle(query, user);
      },
    };

    beforeAll(async () => {
      const connection = await createTenancyDatabase(databases, id);
      backend = await startPeopleBackend({
        connection,
        policy,
        identities: IDENTITIES,
      });
      const components = Object.entries(COMPONENTS).map(([name, owner]) =>
        entity('Component', name, ['ownedBy', owner]),
      );
      await insertEntities(connection, DEFAULT_TENANT_ID, components);
      for (const [slug, { members, people }] of Object.entries(CATALOGS)) {
        const tenantId = await backend.createTenant(slug, members);
        await insertEntities(connection, tenantId, [...people, ...components]);
      }
    });

    const names = Object.keys(COMPONENTS);
    const mayDelete = async (caller: { as: string; tenant: string }) => {
      const { body } = await backend.send(
        'post',
        'aware/may',
        caller,
        names.map(name => ({
          permission: catalogEntityDeletePermission,
          resourceRef: `component:default/${name}`,
        })),
      );
      return names.filter((_, index) => body[index] === AuthorizeResult.ALLOW);
    };

    /** What somebody finds out about themselves in a tenant; nothing where they are refused. */
    const look = async (as: string, tenant: string) => {
      const caller = { as, tenant };
      const who = await backend.send('get', 'aware/who', caller);
      if (who.status === 403) {
        return { groups: undefined, owned: [], deletable: [] };
      }
      const { body } = await backend.send(
        'get',
        'catalog/entities?filter=kind=component',
        caller,
      );
      return {
        groups: who.body.filter((each: string) => each !== ref(as)),
        owned: body.map(({ metadata }: Entity) => metadata.name).sort(),
        deletable: (await mayDelete(caller)).sort(),
      };
    };

    it.each(CELLS)(
      'in %s to %s',
      async (tenant, as, groups, owned, deletable) => {
        await expect(look(as, tenant)).resolves.toEqual({
          groups,
          owned,
          deletable,
        });
      },
    );

    it('is the sign-in’s for what belongs to the portal, whatever a tenant claims', async () => {
      const caller = { as: 'mallory', tenant: 'initech' };
      const who = await backend.send('get', 'news/who', caller);
      expect(who.body).toEqual([ref('mallory')]);
      await backend.send('post', 'news/may', caller, [
        { permission: { type: 'basic', name: 'news.post', attributes: {} } },
      ]);
      expect(claims).toEqual([ref('mallory')]);
      await backend.send('post', 'aware/may', caller, [
        {
          permission: {
            type: 'basic',
            name: 'notes.read',
            attributes: { action: 'read' },
          },
        },
      ]);
      expect(claims).toEqual([ref('mallory'), ADMINS, CREW]);
    });

    it('is decided by the policy that the documentation shows', () => {
      const read = (path: string) =>
        readFileSync(resolve(__dirname, path), 'utf8');
      expect(read('../../../../docs/integrators/members.md')).toContain(
        read('__testUtils__/tenantPolicy.ts'),
      );
    });
  },
);
