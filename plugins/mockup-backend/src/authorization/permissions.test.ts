import type { PermissionsService } from '@backstage/backend-plugin-api';
import { mockCredentials } from '@backstage/backend-test-utils';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import {
  AuthorizeResult,
  isResourcePermission,
  type Permission,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import { mockupPermissions } from 'backstage-plugin-mockup-common';
import {
  createMockupConditionalDecision,
  mockupConditions,
} from 'backstage-plugin-mockup-node';
import { once } from 'node:events';
import { request } from 'node:http';
import {
  ALICE,
  BOB,
  testBackend,
  UNKNOWN_ID,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

const TIME = '2026-01-31T12:00:00.000Z';

describe.each(databases.eachSupportedId())('permissions on %s', id => {
  let hers: string;
  let his: string;
  let herVersion: string;
  let hisVersion: string;

  /** What the policy decides, by the name of the permission. */
  let decisions: Record<string, PolicyDecision>;
  let asked: string[];

  const permissions: Partial<PermissionsService> = {
    authorize: async requests =>
      requests.map(({ permission: { name } }) => {
        asked.push(name);
        return {
          result:
            decisions[name]?.result === AuthorizeResult.DENY
              ? AuthorizeResult.DENY
              : AuthorizeResult.ALLOW,
        };
      }),
    authorizeConditional: async requests =>
      requests.map(
        ({ permission }) =>
          decisions[permission.name] ?? { result: AuthorizeResult.ALLOW },
      ),
  };

  const DENY: PolicyDecision = { result: AuthorizeResult.DENY };

  function onlyOwnedBy(permissionName: string, owner: string): PolicyDecision {
    const permission = mockupPermissions.find(
      ({ name }) => name === permissionName,
    );
    if (!permission || !isResourcePermission(permission, 'mockup')) {
      throw new Error(`No resource permission ${permissionName}`);
    }
    return createMockupConditionalDecision(
      permission,
      mockupConditions.isOwner({ claims: [owner] }),
    );
  }

  const backend = testBackend(databases, id, { permissions });

  beforeEach(async () => {
    decisions = {};
    asked = [];
    await backend.knex('mockups').delete();
    hers = (await backend.alice.post('/mockups', { name: 'hers' })).body.id;
    his = (await backend.bob.post('/mockups', { name: 'his' })).body.id;
    [herVersion, hisVersion] = await Promise.all(
      [hers, his].map(async mockupId => {
        const saved = await backend.alice.post(
          `/mockups/${mockupId}/versions`,
          { layoutData: [] },
        );
        return saved.body.id;
      }),
    );
  });

  const namesSeen = async () => {
    const response = await backend.alice.get('/mockups?orderBy=name,asc');
    expect(response.get('X-Total-Count')).toBe(String(response.body.length));
    return response.body.map(({ name }: { name: string }) => name);
  };

  const readsOf = (mockupId: string) => [
    `/mockups/${mockupId}`,
    `/mockups/${mockupId}/export`,
    `/mockups/${mockupId}/versions`,
    `/mockups/${mockupId}/versions/${herVersion}`,
    `/mockups/${mockupId}/versions/${herVersion}/diff?to=${herVersion}`,
  ];

  const changesOf = (mockupId: string) => {
    const path = `/mockups/${mockupId}`;
    const version = `${path}/versions/${
      mockupId === hers ? herVersion : hisVersion
    }`;
    return [
      () => backend.alice.patch(path, { name: 'changed' }),
      () => backend.alice.post(`${path}/versions`, { layoutData: [] }),
      () => backend.alice.post(`${version}/restore`),
      () => backend.alice.patch(version, { versionTag: 'changed' }),
    ];
  };

  const writesTo = (mockupId: string) => [
    ...changesOf(mockupId),
    () => backend.alice.post(`/mockups/${mockupId}/duplicate`),
    () => backend.alice.delete(`/mockups/${mockupId}`),
  ];

  describe('the trash', () => {
    beforeEach(async () => {
      await backend.knex('mockup_trash').delete();
      for (const mockupId of [hers, his]) {
        await backend.alice.delete(`/mockups/${mockupId}`);
      }
    });

    const ownersInTrash = async () => {
      const { body } = await backend.alice.get('/trash');
      return body.map(({ owner }: { owner: string }) => owner).sort();
    };
    const writes = (mockupId: string) => [
      () => backend.alice.post(`/trash/${mockupId}/restore`),
      () => backend.alice.delete(`/trash/${mockupId}`),
    ];

    it('lists what the caller may read, and is missing otherwise', async () => {
      decisions['mockup.read'] = onlyOwnedBy('mockup.read', ALICE);
      expect(await ownersInTrash()).toEqual([ALICE]);
      for (const write of writes(his)) {
        const response = await write();
        expect(response.status).toBe(404);
        expect(response.text).not.toContain('his');
      }
      decisions['mockup.read'] = DENY;
      expect(await ownersInTrash()).toEqual([]);
      decisions = {};
      expect(await ownersInTrash()).toEqual([ALICE, BOB]);
    });

    it('is restored and emptied by those who may delete', async () => {
      decisions['mockup.delete'] = onlyOwnedBy('mockup.delete', ALICE);
      for (const write of writes(his)) {
        const response = await write();
        expect(response.status).toBe(403);
        expect(response.body.error.message).toBe(
          `You may not delete the mockup '${his}'`,
        );
      }
      expect(await ownersInTrash()).toEqual([ALICE, BOB]);
      expect((await writes(hers)[0]()).status).toBe(200);
      await backend.alice.delete(`/mockups/${hers}`);
      expect((await writes(hers)[1]()).status).toBe(204);
      expect(await ownersInTrash()).toEqual([BOB]);
    });
  });

  describe('mockup.read', () => {
    it('decides what an export of all has', async () => {
      const exported = async () => {
        const { body } = await backend.alice.get('/export');
        return body.mockups.map(({ name }: { name: string }) => name);
      };
      await expect(exported()).resolves.toEqual(['hers', 'his']);
      decisions['mockup.read'] = onlyOwnedBy('mockup.read', ALICE);
      await expect(exported()).resolves.toEqual(['hers']);
      decisions['mockup.read'] = DENY;
      await expect(exported()).resolves.toEqual([]);
    });

    it('denied shows nothing: an empty list, and 404 for everything else', async () => {
      decisions['mockup.read'] = DENY;
      await expect(namesSeen()).resolves.toEqual([]);
      for (const path of readsOf(hers)) {
        expect((await backend.alice.get(path)).status).toBe(404);
      }
    });

    it('denied makes a mockup look missing to every write', async () => {
      decisions['mockup.read'] = DENY;
      for (const write of writesTo(hers)) {
        expect((await write()).status).toBe(404);
      }
    });

    it('conditional filters lists and hides the rest', async () => {
      decisions['mockup.read'] = onlyOwnedBy('mockup.read', ALICE);
      await expect(namesSeen()).resolves.toEqual(['hers']);
      for (const path of readsOf(hers)) {
        expect((await backend.alice.get(path)).status).toBe(200);
      }
      for (const path of readsOf(his)) {
        expect((await backend.alice.get(path)).status).toBe(404);
      }
      // Nor does a missing right to create tell of it.
      decisions['mockup.create'] = DENY;
      for (const write of writesTo(his)) {
        expect((await write()).status).toBe(404);
      }
      for (const write of changesOf(his)) {
        expect((await write().set('If-Match', '"1"')).status).toBe(404);
      }
    });

    it('conditional is applied on top of the filter of the caller', async () => {
      decisions['mockup.read'] = onlyOwnedBy('mockup.read', ALICE);
      const response = await backend.alice.get(`/mockups?owner=${BOB}`);
      expect(response.body).toEqual([]);
      expect(response.get('X-Total-Count')).toBe('0');
    });
  });

  describe('mockup.create', () => {
    it('denied is refused with 403, and nothing is created', async () => {
      decisions['mockup.create'] = DENY;
      for (const path of [
        '/mockups',
        `/mockups/${hers}/duplicate`,
        '/import',
      ]) {
        const response = await backend.alice.post(path, { name: 'new' });
        expect(response.status).toBe(403);
      }
      await expect(namesSeen()).resolves.toEqual(['hers', 'his']);
    });

    it('denied while the file of an import arrives creates nothing', async () => {
      const file = JSON.stringify({
        schema: 'backstage-plugin-mockup/mockups',
        version: 1,
        mockups: [
          { name: 'new', createdAt: TIME, updatedAt: TIME, versions: [] },
        ],
      });
      const sent = request({
        method: 'POST',
        port: backend.server.port(),
        path: '/api/mockup/import',
        headers: {
          Authorization: mockCredentials.user.header(ALICE),
          'Content-Type': 'application/json',
          'Content-Length': file.length,
        },
      });
      sent.write(file.slice(0, 20));
      await waitUntil('the decisions before it is read', () =>
        asked.includes('mockup.review.require'),
      );
      decisions['mockup.create'] = DENY;
      sent.end(file.slice(20));
      const [{ statusCode }] = await once(sent, 'response');
      expect(statusCode).toBe(403);
      await expect(namesSeen()).resolves.toEqual(['hers', 'his']);
    });
  });

  describe.each(['mockup.update', 'mockup.delete'])('%s', name => {
    const governed = (mockupId: string) =>
      name === 'mockup.delete'
        ? writesTo(mockupId).slice(-1)
        : changesOf(mockupId);

    it('denied is refused with 403 where the caller may read', async () => {
      decisions[name] = DENY;
      for (const write of governed(hers)) {
        expect((await write()).status).toBe(403);
      }
      await expect(namesSeen()).resolves.toEqual(['hers', 'his']);
    });

    it('denied still answers 404 to a mockup that does not exist', async () => {
      decisions[name] = DENY;
      await backend.knex('mockups').where({ id: hers }).delete();
      for (const write of governed(hers)) {
        expect((await write()).status).toBe(404);
      }
    });

    it('conditional lets the owner through and nobody else', async () => {
      decisions[name] = onlyOwnedBy(name, ALICE);
      for (const write of governed(his)) {
        expect((await write()).status).toBe(403);
      }
      for (const write of governed(hers)) {
        expect((await write()).status).toBeLessThan(300);
      }
    });
  });

  it('mockup.update is not what a write lacks whose version is missing', async () => {
    decisions['mockup.update'] = onlyOwnedBy('mockup.update', ALICE);
    const at = `/mockups/${hers}/versions/${UNKNOWN_ID}`;
    for (const write of [
      backend.alice.patch(at, { versionTag: 'x' }),
      backend.alice.post(`${at}/restore`),
    ]) {
      expect((await write).status).toBe(404);
    }
  });

  it('are published with their resource type and rules', async () => {
    const { body } = await backend
      .as(mockCredentials.service.header())
      .get('/.well-known/backstage/permissions/metadata');
    // By the action a role in a tenant narrows what the policy allows.
    const actions = body.permissions.map(
      ({ name, attributes }: Permission) => `${name}: ${attributes.action}`,
    );
    expect(actions.sort()).toEqual([
      'mockup.create: create',
      'mockup.delete: delete',
      'mockup.page.home: update',
      'mockup.page.publish: update',
      'mockup.read: read',
      'mockup.review.require: update',
      'mockup.review: update',
      'mockup.share: update',
      'mockup.update: update',
    ]);
    expect(body.rules).toEqual(
      ['IS_OWNER', 'IS_SHARED_WITH'].map(name =>
        expect.objectContaining({ name, resourceType: 'mockup' }),
      ),
    );
  });
});
