import {
  coreServices,
  createBackendPlugin,
  type PermissionsService,
} from '@backstage/backend-plugin-api';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { catalogServiceMock } from '@backstage/plugin-catalog-node/testUtils';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import {
  assignTenant,
  carriedTenant,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  MOCKUP_LIMITS,
  mockupCommentSchema,
  mockupReviewSchema,
} from 'backstage-plugin-mockup-common';
import {
  createMockupConditionalDecision,
  mockupConditions,
} from 'backstage-plugin-mockup-node';
import {
  mockupDeletePermission,
  mockupReadPermission,
  mockupReviewPermission,
  mockupUpdatePermission,
} from 'backstage-plugin-mockup-common';
import express, { type Request } from 'express';
import {
  ALICE,
  BOB,
  testBackend,
  UNKNOWN_ID,
} from '../__testUtils__/startMockupBackend';
import { applyRetention } from '../retention/applyRetention';
import { createNotifyMentioned } from '../review/notifyMentioned';
import { mockCredentials, mockServices } from '@backstage/backend-test-utils';

const databases = createTestDatabases({ versions: 'newest' });

const user = (name: string, namespace = 'default') => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'User',
  metadata: { name, namespace },
  spec: {},
});

it('keeps an author no longer than 5 seconds where the catalog does not answer', async () => {
  jest.useFakeTimers();
  try {
    const logger = mockServices.logger.mock();
    const notify = createNotifyMentioned({
      auth: mockServices.auth(),
      catalog: catalogServiceMock.mock({
        queryEntities: () => new Promise(() => {}),
      }),
      discovery: mockServices.discovery(),
      logger,
    });
    const said = {
      ...{ id: 'one', mockupId: UNKNOWN_ID, author: ALICE, createdAt: '' },
      text: '@bob',
    };
    const notified = notify(said, {} as Request, mockCredentials.user(ALICE));
    await jest.advanceTimersByTimeAsync(5_000);
    await notified;
    expect(logger.warn).toHaveBeenCalledWith(
      "Users mentioned in the comment 'one' were not notified",
      expect.any(Error),
    );
  } finally {
    jest.useRealTimers();
  }
});

it('sends notifications in the tenant of the request', async () => {
  const request = {} as Request;
  const tenant = { tenantId: UNKNOWN_ID, tenantSlug: 'acme' };
  assignTenant(request, tenant);
  const auth = mockServices.auth.mock({
    getOwnServiceCredentials: async () => mockCredentials.service(),
  });
  auth.getPluginRequestToken.mockRejectedValue(new Error('No token'));
  const catalog = catalogServiceMock({ entities: [user('bob')] });
  const query = jest.spyOn(catalog, 'queryEntities');
  const notify = createNotifyMentioned({
    auth,
    catalog,
    discovery: mockServices.discovery(),
    logger: mockServices.logger.mock(),
  });
  const said = {
    ...{ id: 'one', mockupId: UNKNOWN_ID, author: ALICE, createdAt: '' },
    text: `@bob ${Array.from({ length: 20 }, (_, n) => `@u${n}`).join(' ')}`,
  };
  const credentials = mockCredentials.user(ALICE);
  await notify(said, request, credentials);
  // Of 20 users, those whom the author may see.
  expect(query).toHaveBeenCalledWith(
    expect.objectContaining({ filter: Array(20).fill(expect.anything()) }),
    { credentials },
  );
  const [[{ onBehalfOf }]] = auth.getPluginRequestToken.mock.calls;
  expect(carriedTenant(onBehalfOf)).toEqual(tenant);
});

describe.each(databases.eachSupportedId())('reviews on %s', id => {
  let mockupId: string;
  let versionId: string;
  /** Permissions of which only the owner of a mockup has them. */
  let ofOwner: string[] = [];
  let deniesSettings = false;
  /** What the plugin of notifications was sent. */
  const notified: any[] = [];
  let notificationsAnswer = 200;

  const permissions: Partial<PermissionsService> = {
    authorize: async requests =>
      requests.map(({ permission }) => ({
        result:
          deniesSettings && permission.name === 'mockup.review.require'
            ? AuthorizeResult.DENY
            : AuthorizeResult.ALLOW,
      })),
    authorizeConditional: async (requests, options) => {
      const { principal } = options!.credentials as unknown as {
        principal: { userEntityRef?: string };
      };
      return requests.map(({ permission }) =>
        ofOwner.includes(permission.name)
          ? createMockupConditionalDecision(
              permission as typeof mockupReadPermission,
              mockupConditions.isOwner({
                claims: [principal.userEntityRef ?? ''],
              }),
            )
          : { result: AuthorizeResult.ALLOW },
      );
    },
  };

  const notifications = createBackendPlugin({
    pluginId: 'notifications',
    register(env) {
      env.registerInit({
        deps: {
          httpRouter: coreServices.httpRouter,
          httpAuth: coreServices.httpAuth,
        },
        async init({ httpRouter, httpAuth }) {
          const router = express.Router();
          router.post('/notifications', express.json(), (req, res) => {
            httpAuth.credentials(req, { allow: ['service'] }).then(
              () => {
                notified.push(req.body);
                res.status(notificationsAnswer).json([]);
              },
              () => res.status(401).end(),
            );
          });
          httpRouter.use(router);
        },
      });
    },
  });

  const backend = testBackend(databases, id, {
    permissions,
    features: [
      notifications,
      catalogServiceMock.factory({
        entities: [user('alice'), user('bob'), user('bob', 'acme')],
      }),
    ],
  });

  beforeEach(async () => {
    ofOwner = [];
    deniesSettings = false;
    notificationsAnswer = 200;
    notified.length = 0;
    await backend.knex('mockups').delete();
    await backend.knex('mockup_trash').delete();
    await backend.knex('mockup_settings').delete();
    const created = await backend.alice.post('/mockups', { name: 'Start' });
    mockupId = created.body.id;
    versionId = await save('alice');
  });

  async function save(by: 'alice' | 'bob') {
    const saved = await backend[by].post(`/mockups/${mockupId}/versions`, {
      layoutData: [],
    });
    return saved.body.id as string;
  }
  const comments = () => `/mockups/${mockupId}/comments`;
  const comment = async (
    text: string,
    more: object = {},
    by: 'alice' | 'bob' = 'bob',
  ) => {
    const { status, body } = await backend[by].post(comments(), {
      text,
      ...more,
    });
    expect(status).toBe(201);
    return body;
  };
  const ready = (vid = versionId) =>
    `/mockups/${mockupId}/versions/${vid}/ready`;
  const publish = (vid = versionId) =>
    backend.alice.put('/pages/start', {
      mockupId,
      versionId: vid,
      audience: 'everybody',
    });

  describe('comments', () => {
    it('are of the whole or of an item, for all who may read the mockup', async () => {
      const whole = await comment('Too wide');
      const ofItem = await comment('No title', { item: 'header-1' }, 'alice');
      expect(whole).toEqual({
        id: expect.any(String),
        mockupId,
        text: 'Too wide',
        author: BOB,
        createdAt: expect.any(String),
      });
      expect(ofItem).toMatchObject({ item: 'header-1', author: ALICE });
      expect(mockupCommentSchema.parse(whole)).toEqual(whole);
      const { body } = await backend.service.get(comments());
      expect(body).toEqual([whole, ofItem]);
      for (const unfit of [
        { text: 'x'.repeat(2001) },
        { text: 'x', item: 'x'.repeat(256) },
      ]) {
        const { body: refused } = await backend.bob.post(comments(), unfit);
        expect(refused.error.message).toMatch(
          /must be a string of 1 to \d+ ch/,
        );
      }
    });

    it('are not there where the mockup is none to the caller', async () => {
      const { id: cid } = await comment('Too wide');
      ofOwner = [mockupReadPermission.name];
      const answers = [
        await backend.bob.get(comments()),
        await backend.bob.post(comments(), { text: 'Me too' }),
        await backend.bob.patch(`${comments()}/${cid}`, { resolved: true }),
        await backend.bob.delete(`${comments()}/${cid}`),
        await backend.bob.get(`/mockups/${mockupId}/review`),
        await backend.bob.put(ready()),
        await backend.bob.post(`/mockups/${mockupId}/editors`),
        await backend.alice.get(`/mockups/${UNKNOWN_ID}/comments`),
        await backend.alice.delete(`${comments()}/${UNKNOWN_ID}`),
        await backend.alice.delete(`${comments()}/none`),
        await backend.alice.get('/mockups/none/review'),
        await backend.alice.post('/mockups/none/comments', { text: 'x' }),
      ];
      expect(answers.map(({ status }) => status)).toEqual(
        answers.map(() => 404),
      );
      expect((await backend.alice.get(comments())).body).toHaveLength(1);
    });

    it('are not there on another mockup, nor is what is ready', async () => {
      const { id: cid } = await comment('Too wide');
      const { body: other } = await backend.bob.post('/mockups', { name: 'x' });
      const path = `/mockups/${other.id}`;
      expect((await backend.bob.put(ready())).status).toBe(200);
      const answers = [
        await backend.bob.patch(`${path}/comments/${cid}`, { resolved: true }),
        await backend.bob.delete(`${path}/comments/${cid}`),
        await backend.bob.put(`${path}/versions/${versionId}/ready`),
        await backend.bob.delete(`${path}/versions/${versionId}/ready`),
      ];
      expect(answers.map(({ status }) => status)).toEqual(Array(4).fill(404));
      const { body } = await backend.bob.get(comments());
      expect(body).toEqual([expect.not.objectContaining({ resolvedBy: BOB })]);
    });

    it('are resolved, by whom first, and opened again', async () => {
      const { id: cid } = await comment('Too wide');
      const resolve = (by: 'alice' | 'bob', resolved: boolean) =>
        backend[by].patch(`${comments()}/${cid}`, { resolved });
      const { body } = await resolve('alice', true);
      expect(mockupCommentSchema.parse(body)).toMatchObject({
        resolvedBy: ALICE,
        resolvedAt: expect.any(String),
      });
      expect((await resolve('bob', true)).body).toEqual(body);
      const { body: opened } = await resolve('bob', false);
      expect(opened).not.toHaveProperty('resolvedBy');
      expect(opened).not.toHaveProperty('resolvedAt');
    });

    it('are deleted by their author, and by those who may delete the mockup', async () => {
      ofOwner = [mockupDeletePermission.name];
      const remove = async (by: 'alice' | 'bob', cid: string) =>
        (await backend[by].delete(`${comments()}/${cid}`)).status;
      const own = await comment('Mine');
      expect(await remove('bob', own.id)).toBe(204);
      const hers = await comment('Hers', {}, 'alice');
      expect(await remove('bob', hers.id)).toBe(403);
      const his = await comment('His');
      expect(await remove('alice', his.id)).toBe(204);
      expect((await backend.bob.get(comments())).body).toEqual([hers]);
    });

    const addComments = (count: number) =>
      backend.knex('mockup_comments').insert(
        Array.from({ length: count }, () => ({
          tenant_id: '00000000-0000-0000-0000-000000000001',
          mockup_id: mockupId,
          text: 'x',
          author: BOB,
          created_at: '2026-01-01',
        })),
      );

    it('are made once, however often they are sent with a key, also as the last', async () => {
      await addComments(MOCKUP_LIMITS.comments - 1);
      const attempt = (text: string, caller = backend.bob, at = comments()) =>
        caller.post(at, { text }).set('Idempotency-Key', 'attempt');
      const made = await attempt('Too wide');
      expect(made.status).toBe(201);
      const inCapitals = `/mockups/${mockupId.toUpperCase()}/comments`;
      for (const at of [comments(), inCapitals]) {
        const again = await attempt('Too wide', backend.bob, at);
        expect([again.status, again.body]).toEqual([201, made.body]);
      }
      expect((await attempt('Too high')).status).toBe(409);
      expect((await attempt('Too wide', backend.alice)).status).toBe(409);
    });

    it('are at most 500 on a mockup, also where several are made at once', async () => {
      await addComments(MOCKUP_LIMITS.comments - 1);
      const locked = await backend.knex.transaction();
      await locked('mockups').where({ id: mockupId }).forUpdate();
      const answers = [1, 2].map(() =>
        backend.bob
          .post(comments(), { text: 'x' })
          .then(({ status, body }) => [status, body.error?.message]),
      );
      await waitUntil('the comments to wait', async () => {
        const { rows } = await backend.knex.raw(
          `select from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return rows.length === answers.length;
      });
      await locked.commit();
      expect((await Promise.all(answers)).sort()).toEqual([
        [201, undefined],
        [409, expect.stringContaining('Delete some of them first')],
      ]);
    });

    it('come back with their mockup from the trash, and end with it there', async () => {
      const said = await comment('Too wide');
      await backend.alice.delete(`/mockups/${mockupId}`);
      expect((await backend.bob.get(comments())).status).toBe(404);
      await backend.alice.post(`/trash/${mockupId}/restore`);
      expect((await backend.bob.get(comments())).body).toEqual([said]);

      await backend.alice.delete(`/mockups/${mockupId}`);
      await backend.alice.delete(`/trash/${mockupId}`);
      expect(await backend.knex('mockup_comments')).toEqual([]);
    });
  });

  describe('mentions', () => {
    it('notify users of the catalog by reference or name, and not the author', async () => {
      await comment(
        'See @user:default/Alice and @bob. Not bob@alice, @nobody or @group:default/alice',
        {},
        'alice',
      );
      expect(notified).toEqual([
        {
          recipients: {
            type: 'entity',
            entityRef: expect.arrayContaining([BOB, 'user:acme/bob']),
          },
          // Nothing of a mockup that they may be kept from.
          payload: {
            title: `${ALICE} has mentioned you in a comment on a mockup`,
            link: `/mockups/${mockupId}/comments`,
            topic: 'mockups',
            scope: expect.stringMatching(/^mockup-comment:/),
          },
        },
      ]);
      expect(notified[0].recipients.entityRef).toHaveLength(2);
    });

    it('of nobody notify nobody', async () => {
      await comment('@nobody @bob', {}, 'bob');
      expect(notified).toMatchObject([
        { recipients: { entityRef: ['user:acme/bob'] } },
      ]);
      await comment('Nothing');
      expect(notified).toHaveLength(1);
    });

    it('lose no comment where notifications fail', async () => {
      notificationsAnswer = 503;
      const said = await comment('@bob', {}, 'alice');
      expect(notified).toHaveLength(1);
      expect((await backend.bob.get(comments())).body).toEqual([said]);
    });
  });

  describe('what is ready', () => {
    it('is said by somebody other than the author, and taken back', async () => {
      const refused = await backend.alice.put(ready());
      expect(refused.status).toBe(403);
      expect(refused.body.error.message).toContain(
        'Ask somebody else to review it',
      );
      const { body } = await backend.bob.put(ready());
      expect(body).toEqual({
        versionId,
        readyBy: BOB,
        readyAt: expect.any(String),
      });
      expect((await backend.bob.put(ready())).body).toEqual(body);
      const review = await backend.alice.get(`/mockups/${mockupId}/review`);
      expect(mockupReviewSchema.parse(review.body)).toEqual({
        isRequired: false,
        ready: [body],
      });
      // A version of later is another one.
      const next = await save('bob');
      expect((await backend.bob.put(ready(next))).status).toBe(403);

      expect((await backend.alice.delete(ready())).status).toBe(204);
      expect((await backend.alice.delete(ready())).status).toBe(404);
      expect((await backend.bob.put(ready(UNKNOWN_ID))).status).toBe(404);
    });

    it('is no imported version that its importer says is by somebody else', async () => {
      const exported = await backend.bob.get(`/mockups/${mockupId}/export`);
      deniesSettings = true;
      // Also where the tenant requires reviews only later.
      const imported = await backend.bob.post('/import', exported.body);
      const copy = `/mockups/${imported.body.mockups[0].id}/versions`;
      const [version] = (await backend.bob.get(copy)).body;
      expect(version.createdBy).toBe(BOB);
      expect(
        (await backend.bob.put(`${copy}/${version.id}/ready`)).status,
      ).toBe(403);
      deniesSettings = false;
      const kept = await backend.bob.post('/import', exported.body);
      const [{ id: other }] = kept.body.mockups;
      const versions = await backend.bob.get(`/mockups/${other}/versions`);
      expect(versions.body[0].createdBy).toBe(ALICE);
    });

    it('is for those who may review', async () => {
      ofOwner = [mockupReviewPermission.name];
      const refused = await backend.bob.put(ready());
      expect(refused.status).toBe(403);
      expect(refused.body.error.message).toContain('You may not review');
      expect((await backend.bob.delete(ready())).status).toBe(403);
      const his = await save('bob');
      expect((await backend.alice.put(ready(his))).status).toBe(200);
    });

    it.each([
      ['marking a version', () => backend.bob.put(ready())],
      [
        'announcing an editor',
        () => backend.bob.post(`/mockups/${mockupId}/editors`),
      ],
      ['publishing a version', () => publish()],
      ['a comment', () => backend.bob.post(comments(), { text: 'x' })],
    ])('%s of a mockup that is deleted meanwhile is 404', async (_, send) => {
      let answer: Promise<{ status: number }> | undefined;
      await backend.knex.transaction(async deleting => {
        await deleting('mockups').where({ id: mockupId }).delete();
        answer = send().then(response => response);
        await waitUntil('the request to wait for the deletion', async () => {
          const { rows } = await backend.knex.raw(
            `select from pg_stat_activity where wait_event_type = 'Lock'
                and datname = current_database()`,
          );
          return rows.length > 0;
        });
      });
      expect((await answer)?.status).toBe(404);
    });

    it('is alone published where the tenant wants it', async () => {
      const require = (reviewRequired: unknown) =>
        backend.alice.put('/settings', { reviewRequired });
      expect((await backend.bob.get('/settings')).body).toEqual({
        reviewRequired: false,
      });
      expect((await publish()).status).toBe(200);
      expect((await require('yes')).status).toBe(400);
      expect((await require(true)).body).toEqual({ reviewRequired: true });
      const unreviewed = await publish();
      expect(unreviewed.status).toBe(409);
      expect(unreviewed.body.error.message).toContain(
        'Ask somebody other than its author to mark it as ready first',
      );
      // What was published before stays.
      expect((await backend.bob.get('/pages/start')).status).toBe(200);

      await backend.bob.put(ready());
      expect((await publish()).status).toBe(200);
      expect((await publish(await save('alice'))).status).toBe(409);
      await backend.bob.delete(ready());
      expect((await publish()).status).toBe(409);
      await require(false);
      expect((await publish()).status).toBe(200);

      deniesSettings = true;
      const refused = await require(true);
      expect(refused.status).toBe(403);
      expect(refused.body.error.message).toContain('Ask an admin');
      expect((await backend.service.put('/settings', {})).status).toBe(403);
    });
  });

  describe('editors', () => {
    const announce = (by: 'alice' | 'bob' | 'service') =>
      backend[by].post(`/mockups/${mockupId}/editors`);

    it('know of each other for a while, until retention forgets them', async () => {
      expect((await announce('alice')).body).toEqual([]);
      expect((await announce('bob')).body).toEqual([ALICE]);
      expect((await announce('alice')).body).toEqual([BOB]);
      await backend
        .knex('mockup_editors')
        .where({ editor: BOB })
        .update({
          seen_at: backend.knex.raw(
            "clock_timestamp() at time zone 'utc' - interval '1 minute'",
          ),
        });
      expect((await announce('alice')).body).toEqual([]);
      await backend
        .knex('mockup_editors')
        .where({ editor: BOB })
        .update({ seen_at: '2026-01-01' });
      await applyRetention({
        knex: backend.knex,
        logger: mockServices.logger.mock(),
        retention: { trashMs: undefined, versions: undefined },
      });
      expect(await backend.knex('mockup_editors').pluck('editor')).toEqual([
        ALICE,
      ]);
    });

    it('are told of 20 others at most', async () => {
      const names = Array.from({ length: 21 }, (_, n) => `user:default/u${n}`);
      await backend.knex('mockup_editors').insert(
        names.map(editor => ({
          tenant_id: '00000000-0000-0000-0000-000000000001',
          mockup_id: mockupId,
          editor,
          seen_at: backend.knex.raw("clock_timestamp() at time zone 'utc'"),
        })),
      );
      const { body } = await announce('alice');
      expect(body).toEqual(names.sort().slice(0, 20));
    });

    it('are those alone who may change the mockup', async () => {
      ofOwner = [mockupUpdatePermission.name];
      expect((await announce('bob')).status).toBe(403);
      expect((await announce('service')).status).toBe(403);
      expect((await announce('alice')).body).toEqual([]);
    });
  });
});
