import type { PermissionsService } from '@backstage/backend-plugin-api';
import {
  AuthorizeResult,
  isResourcePermission,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import {
  MOCKUP_LIMITS,
  mockupPermissions,
  mockupSchema,
} from 'backstage-plugin-mockup-common';
import {
  createMockupConditionalDecision,
  mockupConditions,
  mockupPermissionRules,
} from 'backstage-plugin-mockup-node';
import {
  ALICE,
  BOB,
  createMockup,
  testBackend,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

const DESIGNERS = 'group:default/designers';

/** Each user as the policy knows them: Bob is a designer. */
const CLAIMS: Record<string, string[]> = {
  [ALICE]: [ALICE],
  [BOB]: [BOB, DESIGNERS],
};

/**
 * The policy of the documentation: owners may do everything, readers of the shares read,
 * writers write.
 */
function decide(permissionName: string, user: string): PolicyDecision {
  const permission = mockupPermissions.find(
    ({ name }) => name === permissionName,
  );
  if (!permission || !isResourcePermission(permission, 'mockup')) {
    return { result: AuthorizeResult.ALLOW };
  }
  const claims = CLAIMS[user];
  const isOwner = mockupConditions.isOwner({ claims });
  const access = {
    'mockup.read': 'read' as const,
    'mockup.update': 'write' as const,
  }[permissionName];
  return createMockupConditionalDecision(
    permission,
    access
      ? { anyOf: [isOwner, mockupConditions.isSharedWith({ claims, access })] }
      : isOwner,
  );
}

const permissions: Partial<PermissionsService> = {
  authorize: async requests =>
    requests.map(() => ({ result: AuthorizeResult.ALLOW })),
  authorizeConditional: async (requests, options) => {
    const { principal } = options!.credentials as unknown as {
      principal: { userEntityRef: string };
    };
    return requests.map(({ permission }) =>
      decide(permission.name, principal.userEntityRef),
    );
  },
};

describe.each(databases.eachSupportedId())(
  'PUT /mockups/:id/shares on %s',
  id => {
    let mockupId: string;
    let path: string;
    let etag: string;

    const backend = testBackend(databases, id, { permissions });

    beforeEach(async () => {
      const created = await createMockup(backend);
      mockupId = created.body.id;
      path = `/mockups/${mockupId}`;
      etag = created.headers.etag;
    });

    const share = (...shares: object[]) =>
      backend.alice.put(`${path}/shares`, { shares });

    it('answers 200 with the mockup and its shares, and a new entity tag', async () => {
      const response = await share(
        { group: 'group:default/reviewers', access: 'read' },
        { group: 'Group:Default/Designers', access: 'write' },
      );
      expect(response.status).toBe(200);
      expect(mockupSchema.parse(response.body)).toEqual(response.body);
      expect(response.body.shares).toEqual([
        { group: DESIGNERS, access: 'write' },
        { group: 'group:default/reviewers', access: 'read' },
      ]);
      expect(response.get('ETag')).not.toBe(etag);
      const read = await backend.alice.get(path);
      expect(read.get('ETag')).toBe(response.get('ETag'));
      expect(read.body.shares).toEqual(response.body.shares);
      const { body: list } = await backend.alice.get('/mockups?limit=1');
      expect(list[0].shares).toEqual(response.body.shares);
    });

    it('takes as many groups as there may be, and none', async () => {
      const groups = Array.from({ length: MOCKUP_LIMITS.shares }, (_, i) => ({
        group: `group:default/g${i}`,
        access: 'read',
      }));
      const shared = await share(...groups);
      expect(shared.status).toBe(200);
      const { isSharedWith } = mockupPermissionRules;
      const [{ group }] = groups;
      const applies = (access: 'read' | 'write', ...claims: string[]) =>
        isSharedWith.apply(shared.body, { claims, access });
      expect(applies('read', 'group:default/x', group)).toBe(true);
      expect(applies('read', 'group:default/x')).toBe(false);
      expect(applies('write', group)).toBe(false);
      const unshared = await share();
      expect(unshared.status).toBe(200);
      expect(unshared.body).not.toHaveProperty('shares');

      const oneMore = { group: 'group:default/more', access: 'read' };
      const refused = await share(...groups, oneMore);
      expect(refused.status).toBe(400);
      expect(refused.body.error.message).toContain(
        'shares must be a list of at most 50 groups, each once',
      );
    });

    describe('with a policy of owners and shares', () => {
      const bobsLists = async () => {
        const { body } = await backend.bob.get('/mockups?limit=500');
        return body.map((mockup: { id: string }) => mockup.id);
      };

      it('shows nothing of it to others', async () => {
        expect((await backend.bob.get(path)).status).toBe(404);
        expect(await bobsLists()).not.toContain(mockupId);
        const response = await backend.bob.put(`${path}/shares`, {
          shares: [],
        });
        expect(response.status).toBe(404);
      });

      it('lets the members of a group read', async () => {
        await share({ group: DESIGNERS, access: 'read' });
        expect((await backend.bob.get(path)).status).toBe(200);
        expect(await bobsLists()).toContain(mockupId);
        for (const write of [
          backend.bob.patch(path, { name: 'his' }),
          backend.bob.post(`${path}/versions`, { layoutData: [] }),
        ]) {
          const response = await write;
          expect(response.status).toBe(403);
          expect(response.body.error.message).toBe(
            `You may not update the mockup '${mockupId}'`,
          );
        }
      });

      it('lets the members of a group write, but neither share nor delete', async () => {
        await share({ group: DESIGNERS, access: 'write' });
        const saved = await backend.bob.post(`${path}/versions`, {
          layoutData: [],
        });
        expect(saved.status).toBe(201);
        expect(saved.body.createdBy).toBe(BOB);
        const sharing = await backend.bob.put(`${path}/shares`, { shares: [] });
        expect(sharing.status).toBe(403);
        expect(sharing.body.error.message).toBe(
          `You may not share the mockup '${mockupId}'`,
        );
        expect((await backend.bob.delete(path)).status).toBe(403);
        expect((await backend.alice.get(path)).body.shares).toHaveLength(1);
      });

      it('saves nothing of a writer whose share is taken back while the write waits', async () => {
        await share({ group: DESIGNERS, access: 'write' });
        const takingBack = await backend.knex.transaction();
        await takingBack('mockups')
          .where({ id: mockupId })
          .update({ writers: '{}', readers: `{${DESIGNERS}}` });
        const write = backend.bob
          .post(`${path}/versions`, { layoutData: [] })
          .then(response => response);
        await waitUntil('the write to wait for the row', async () => {
          const { rows } = await backend.knex.raw(
            `select from pg_stat_activity
            where wait_event_type = 'Lock' and datname = current_database()`,
          );
          return rows.length > 0;
        });
        await takingBack.commit();
        const response = await withDeadline('the write', write);
        expect(response.status).toBe(403);
        const { body } = await backend.alice.get(`${path}/versions`);
        expect(body).toEqual([]);
      });

      it('applies to the trash, where nobody else restores it', async () => {
        await share({ group: DESIGNERS, access: 'write' });
        await backend.alice.delete(path);
        const { body } = await backend.bob.get('/trash?limit=500');
        expect(body.map((one: { id: string }) => one.id)).toContain(mockupId);
        const response = await backend.bob.post(`/trash/${mockupId}/restore`);
        expect(response.status).toBe(403);
        const restored = await backend.alice.post(`/trash/${mockupId}/restore`);
        expect(restored.body.shares).toHaveLength(1);
        const copy = await backend.bob.post(`${path}/duplicate`);
        expect([copy.status, copy.body.shares]).toEqual([201, undefined]);
      });
    });
  },
);
