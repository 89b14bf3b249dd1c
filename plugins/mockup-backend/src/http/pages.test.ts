import type { PermissionsService } from '@backstage/backend-plugin-api';
import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import {
  AuthorizeResult,
  isResourcePermission,
} from '@backstage/plugin-permission-common';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import {
  type Mockup,
  mockupPermissions,
  publishedPageSchema,
  publishedPageWithLayoutSchema,
} from 'backstage-plugin-mockup-common';
import {
  createMockupConditionalDecision,
  mockupConditions,
} from 'backstage-plugin-mockup-node';
import fc from 'fast-check';
import {
  ALICE,
  BOB,
  item,
  testBackend,
  UNKNOWN_ID,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

// Whom the auth plugin has not signed in.
const STRANGER = 'user:default/stranger';
// Of whom it cannot tell now.
const UNKNOWN = 'user:default/unknown';
const DESIGNERS = 'group:default/designers';

/** Each user has what they own; Bob is a designer. */
const userInfo = {
  async getUserInfo(credentials: unknown) {
    const { userEntityRef } = (
      credentials as { principal: { userEntityRef: string } }
    ).principal;
    const statusCode = { [STRANGER]: 404, [UNKNOWN]: 503 }[userEntityRef];
    if (statusCode) {
      throw Object.assign(new Error('No answer'), { statusCode });
    }
    return {
      userEntityRef,
      ownershipEntityRefs:
        userEntityRef === BOB
          ? [BOB, 'group:default/Designers']
          : [userEntityRef],
    };
  },
};

/** Owners may do everything, and nobody else anything. */
const permissions: Partial<PermissionsService> = {
  authorize: async requests =>
    requests.map(() => ({ result: AuthorizeResult.ALLOW })),
  authorizeConditional: async (requests, options) => {
    const { principal } = options!.credentials as unknown as {
      principal: { userEntityRef?: string };
    };
    return requests.map(({ permission: { name } }) => {
      const permission = mockupPermissions.find(each => each.name === name);
      return permission && isResourcePermission(permission, 'mockup')
        ? createMockupConditionalDecision(
            permission,
            mockupConditions.isOwner({
              claims: [principal.userEntityRef ?? ''],
            }),
          )
        : { result: AuthorizeResult.ALLOW };
    });
  },
};

describe.each(databases.eachSupportedId())('pages on %s', id => {
  let mockup: Mockup;
  /** Two versions of the mockup of Alice, the older first. */
  let versions: string[];

  const backend = testBackend(databases, id, {
    permissions,
    features: [mockServices.userInfo.mock(userInfo).factory],
  });

  beforeEach(async () => {
    await backend.knex('mockups').delete();
    ({ mockup, versions } = await createVersions('alice', 'first', 'second'));
  });

  async function createVersions(by: 'alice' | 'bob', ...labels: string[]) {
    const created = await backend[by].post('/mockups', { name: 'Start' });
    const ids: string[] = [];
    for (const label of labels) {
      const saved = await backend[by].post(
        `/mockups/${created.body.id}/versions`,
        { layoutData: [item({ props: { label } })], versionTag: label },
      );
      ids.push(saved.body.id);
    }
    return { mockup: created.body as Mockup, versions: ids };
  }

  const publish = (more: object = {}, path = 'start') =>
    backend.alice.put(`/pages/${path}`, {
      mockupId: mockup.id,
      versionId: versions[0],
      audience: 'everybody',
      ...more,
    });
  const labelOf = (body: { layoutData: { props: object }[] }) =>
    body.layoutData[0].props;

  it('show the published version to those who may not see the mockup, and no draft', async () => {
    const published = await publish();
    expect(published.status).toBe(200);
    expect(publishedPageSchema.parse(published.body)).toEqual(published.body);
    expect(published.body).toEqual({
      path: 'start',
      title: 'Start',
      publication: {
        mockupId: mockup.id,
        versionId: versions[0],
        versionTag: 'first',
        audience: 'everybody',
        home: false,
        publishedBy: ALICE,
        publishedAt: expect.any(String),
      },
    });

    const seen = await backend.bob.get('/pages/start');
    expect(publishedPageWithLayoutSchema.parse(seen.body)).toEqual(seen.body);
    expect(seen.body).toEqual({
      path: 'start',
      title: 'Start',
      layoutData: [item({ props: { label: 'first' } })],
    });
    expect((await backend.bob.get('/pages')).body).toEqual([
      { path: 'start', title: 'Start' },
    ]);
    expect((await backend.bob.get(`/mockups/${mockup.id}`)).status).toBe(404);
    expect((await backend.bob.get(`/mockups/${mockup.id}/pages`)).status).toBe(
      404,
    );
    expect((await backend.service.get('/pages/start')).status).toBe(200);
    const stranger = backend.as(mockCredentials.user.header(STRANGER));
    expect((await stranger.get('/pages/start')).status).toBe(200);
    const unknown = backend.as(mockCredentials.user.header(UNKNOWN));
    expect((await unknown.get('/pages/start')).status).toBe(503);
    expect((await backend.anonymous.get('/pages/start')).status).toBe(401);

    await backend.alice.patch(`/mockups/${mockup.id}`, { name: 'Draft' });
    expect((await backend.bob.get('/pages/start')).body).toEqual(seen.body);
  });

  it('take another version, an earlier one too, and say which to those who may publish', async () => {
    await publish({ versionId: versions[1] });
    expect(labelOf((await backend.bob.get('/pages/start')).body)).toEqual({
      label: 'second',
    });
    await publish({ versionId: versions[0], title: 'Welcome' });
    const { body } = await backend.alice.get('/pages/start');
    expect(labelOf(body)).toEqual({ label: 'first' });
    expect(body).toMatchObject({
      title: 'Welcome',
      publication: { versionId: versions[0], versionTag: 'first' },
    });
    const { body: own } = await backend.alice.get(
      `/mockups/${mockup.id}/pages`,
    );
    expect(own).toEqual([{ ...body, layoutData: undefined }]);
  });

  it('are gone for all when they are taken back, and when the mockup is deleted, for good', async () => {
    await publish();
    expect((await backend.bob.delete('/pages/start')).status).toBe(403);
    expect((await backend.alice.delete('/pages/start')).status).toBe(204);
    expect((await backend.alice.delete('/pages/start')).status).toBe(404);
    expect((await backend.bob.delete('/pages/start')).status).toBe(404);
    for (const caller of [backend.alice, backend.bob, backend.service]) {
      expect((await caller.get('/pages/start')).status).toBe(404);
      expect((await caller.get('/pages')).body).toEqual([]);
    }

    await publish();
    await backend.alice.delete(`/mockups/${mockup.id}`);
    expect((await backend.bob.get('/pages/start')).status).toBe(404);
    await backend.alice.post(`/trash/${mockup.id}/restore`);
    expect((await backend.bob.get('/pages/start')).status).toBe(404);
  });

  it('are missing, and not refused, to a publisher who takes one back that is replaced meanwhile', async () => {
    await publish();
    let answer: Promise<number> | undefined;
    await backend.knex.transaction(async replacing => {
      const [page] = await replacing('mockup_pages').delete().returning('*');
      await replacing('mockup_pages').insert(page);
      answer = backend.alice.delete('/pages/start').then(each => each.status);
      await waitUntil('the request to wait for the page', async () => {
        const { rows } = await backend.knex.raw(
          `select from pg_stat_activity where wait_event_type = 'Lock'
              and datname = current_database()`,
        );
        return rows.length > 0;
      });
    });
    expect(await answer).toBe(404);
    expect((await backend.alice.delete('/pages/start')).status).toBe(204);
  });

  it('are for their audience, and for who has published them', async () => {
    await publish({ audience: 'group:default/Designers' });
    expect((await backend.bob.get('/pages/start')).status).toBe(200);
    expect((await backend.alice.get('/pages/start')).status).toBe(200);
    expect((await backend.service.get('/pages/start')).status).toBe(404);
    await publish({ audience: 'group:default/reviewers' });
    expect((await backend.bob.get('/pages/start')).status).toBe(404);
    expect((await backend.bob.get('/pages')).body).toEqual([]);
    expect((await backend.bob.delete('/pages/start')).status).toBe(404);
    expect((await backend.alice.get('/pages')).body).toHaveLength(1);
  });

  it('are published by those alone who may publish the mockup', async () => {
    const own = await createVersions('bob', 'his');
    const request = { mockupId: mockup.id, versionId: versions[0] };
    const all = { audience: 'everybody' };
    const byBob = (body: object) => backend.bob.put('/pages/other', body);
    expect((await byBob({ ...request, ...all })).status).toBe(404);
    // A version of another mockup is none of this one.
    const crossed = { mockupId: own.mockup.id, versionId: versions[0] };
    expect((await byBob({ ...crossed, ...all })).status).toBe(404);
    expect(
      (await byBob({ ...request, ...all, versionId: UNKNOWN_ID })).status,
    ).toBe(404);
    expect(
      (await backend.service.put('/pages/other', { ...request, ...all }))
        .status,
    ).toBe(403);

    const roles = await publish({ audience: 'role:viewer' });
    expect([roles.status, roles.body.error.message]).toEqual([
      400,
      expect.stringContaining('Nobody has a role in this tenant'),
    ]);
    for (const path of ['A', 'a'.repeat(101), 'a--b']) {
      const { body } = await publish({}, path);
      expect(body.error.message).toContain(
        'Invalid path: path must be 1 to 100 lower-case letters',
      );
    }

    await publish();
    const taken = await backend.bob.put('/pages/start', {
      mockupId: own.mockup.id,
      versionId: own.versions[0],
      ...all,
    });
    expect(taken.status).toBe(409);
    expect(taken.body.error.message).toContain(
      "The path 'start' has the page of another mockup",
    );
    expect(labelOf((await backend.bob.get('/pages/start')).body)).toEqual({
      label: 'first',
    });
  });

  it('refuse a version that asks for too much, however it was saved', async () => {
    const layout = Array.from({ length: 101 }, (_, n) =>
      item({ i: `${n}`, component: 'markdown', props: { text: `${n}` } }),
    );
    await backend
      .knex('mockup_versions')
      .where({ id: versions[0] })
      .update({ layout_data: JSON.stringify(layout) });
    const { status, body } = await publish();
    expect([status, body.error.message]).toEqual([
      400,
      'The live components of this version have 101 different queries. Expected at most 100: split it into several pages',
    ]);
  });

  it('stay for whom they are where another version is put there', async () => {
    const version = { mockupId: mockup.id, versionId: versions[1] };
    expect((await backend.alice.put('/pages/start', version)).status).toBe(400);
    const settings = { audience: DESIGNERS, home: true };
    await publish({ ...settings, title: 'Ours', template: true });
    const { status, body } = await backend.alice.put('/pages/start', version);
    expect([status, body]).toMatchObject([
      200,
      {
        title: 'Ours',
        template: true,
        publication: { ...settings, versionId: versions[1] },
      },
    ]);
  });

  it('are published at once without a deadlock, and leave one home', async () => {
    const paths = ['a', 'b', 'c'];
    for (const path of paths) {
      await publish({}, path);
    }
    for (let round = 0; round < 10; round += 1) {
      await backend.knex('mockup_pages').update({ is_home: true });
      const answers = await Promise.all(
        paths.map(path => publish({ home: true }, path)),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(
        await backend.knex('mockup_pages').where('is_home', true),
      ).toHaveLength(1);
    }
  });

  it('are 500 at most, however many are published at once', async () => {
    await publish({}, 'first');
    await backend.knex.raw(
      `insert into mockup_pages
       select tenant_id, 'page-' || number, title, mockup_id, version_id, audience, is_home,
              published_by, published_at
         from mockup_pages, generate_series(1, 498) number`,
    );
    const paths = ['a', 'b', 'c', 'd'];
    for (let round = 0; round < 10; round += 1) {
      await backend.knex('mockup_pages').whereIn('path', paths).delete();
      const answers = await Promise.all(paths.map(path => publish({}, path)));
      expect(answers.map(({ status }) => status).sort()).toEqual([
        200, 409, 409, 409,
      ]);
    }
    expect((await publish({}, 'first')).status).toBe(200);
  });

  it('are templates for their readers, until they are published as none', async () => {
    await publish({ template: true, audience: DESIGNERS });
    const listed = (body: object[]) => body.map((page: any) => page.template);
    expect(listed((await backend.bob.get('/pages')).body)).toEqual([true]);
    expect((await backend.bob.get('/pages/start')).body.template).toBe(true);
    const stranger = backend.as(mockCredentials.user.header(STRANGER));
    expect((await stranger.get('/pages')).body).toEqual([]);
    await publish({ template: false, audience: DESIGNERS });
    expect((await backend.bob.get('/pages')).body).toEqual([
      { path: 'start', title: 'Start' },
    ]);
  });

  it('have a home for each audience, of which that of a group comes first', async () => {
    expect((await backend.bob.get('/home')).status).toBe(204);
    await publish({ home: true }, 'all');
    await publish(
      { home: true, audience: DESIGNERS, versionId: versions[1] },
      'ours',
    );
    expect((await backend.bob.get('/home')).body.path).toBe('ours');
    expect((await backend.alice.get('/home')).body.path).toBe('all');

    await publish({ home: true, title: 'New' }, 'all-new');
    expect((await backend.alice.get('/home')).body.path).toBe('all-new');
    const { body: own } = await backend.alice.get(
      `/mockups/${mockup.id}/pages`,
    );
    expect(
      own.map(({ path, publication }: any) => [path, publication.home]),
    ).toEqual([
      ['all', false],
      ['all-new', true],
      ['ours', true],
    ]);
    await backend.alice.delete('/pages/all-new');
    expect((await backend.alice.get('/home')).status).toBe(204);
  });

  it('are what was published last, whatever was published and taken back before', async () => {
    const step = fc.oneof(
      fc.record({ path: fc.constantFrom('a', 'b'), version: fc.nat(1) }),
      fc.record({ path: fc.constantFrom('a', 'b'), back: fc.constant(true) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async steps => {
        await backend.knex('mockup_pages').delete();
        const expected = new Map<string, string>();
        const answers: number[][] = [];
        for (const each of steps) {
          if ('back' in each) {
            const { status } = await backend.alice.delete(
              `/pages/${each.path}`,
            );
            answers.push([status, expected.delete(each.path) ? 204 : 404]);
          } else {
            const versionId = versions[each.version];
            const { status } = await publish({ versionId }, each.path);
            answers.push([status, 200]);
            expected.set(each.path, ['first', 'second'][each.version]);
          }
        }
        for (const [status, due] of answers) {
          expect(status).toBe(due);
        }
        for (const path of ['a', 'b']) {
          const { status, body } = await backend.bob.get(`/pages/${path}`);
          expect(status === 200 ? labelOf(body) : undefined).toEqual(
            expected.has(path) ? { label: expected.get(path) } : undefined,
          );
        }
      }),
      { numRuns: 10, endOnFailure: true },
    );
  });
});
