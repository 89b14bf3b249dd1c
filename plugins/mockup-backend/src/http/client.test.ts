import { mockCredentials } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { MockupClient } from 'backstage-plugin-mockup-common';
import {
  ALICE,
  BOB,
  item,
  type MockupBackend,
  startMockupBackend,
  UNKNOWN_ID,
} from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('MockupClient on %s', id => {
  let client: MockupClient;
  let backend: MockupBackend;

  const alice = { token: mockCredentials.user.token(ALICE) };

  beforeAll(async () => {
    const knex = await databases.init(id);
    backend = await startMockupBackend({ knex });
    ({ client } = backend);
  });

  it('reaches every operation of the plugin', async () => {
    const created = await client.createMockup(
      { name: 'Checkout' },
      { ...alice, idempotencyKey: 'one' },
    );
    expect(
      await client.createMockup(
        { name: 'Checkout' },
        { ...alice, idempotencyKey: 'one' },
      ),
    ).toEqual(created);
    expect(created.mockup).toMatchObject({ name: 'Checkout', owner: ALICE });
    const mockupId = created.mockup.id;

    const updated = await client.updateMockup(
      mockupId,
      { description: 'The last step' },
      { ...alice, ifMatch: created.etag },
    );
    expect(updated.mockup.description).toBe('The last step');

    const saved = await client.saveVersion(
      mockupId,
      { layoutData: [item()], versionTag: 'first' },
      { ...alice, ifMatch: updated.etag },
    );
    expect(saved.version).toMatchObject({ mockupId, versionTag: 'first' });

    await expect(client.getMockup(mockupId, alice)).resolves.toEqual({
      mockup: {
        ...updated.mockup,
        updatedAt: saved.version.createdAt,
        latestVersion: saved.version,
      },
      etag: saved.etag,
    });
    await expect(
      client.getVersion(mockupId, saved.version.id, alice),
    ).resolves.toEqual(saved.version);
    await expect(
      client.compareVersions(
        mockupId,
        saved.version.id,
        saved.version.id,
        alice,
      ),
    ).resolves.toEqual({
      from: saved.version.id,
      to: saved.version.id,
      items: [],
      patch: [],
    });
    await expect(
      client.listVersions(mockupId, { limit: 1 }, alice),
    ).resolves.toEqual({ items: [saved.version], totalItems: 1 });
    await expect(
      client.listMockups(
        { owner: ALICE, search: 'check & out', orderBy: 'name,asc' },
        alice,
      ),
    ).resolves.toEqual({ items: [], totalItems: 0 });
    await expect(
      client.listMockups({ search: 'CHECK' }, alice),
    ).resolves.toMatchObject({ items: [{ id: mockupId }], totalItems: 1 });

    const shares = [
      { group: 'group:default/designers', access: 'read' as const },
    ];
    const shared = await client.shareMockup(
      mockupId,
      { shares },
      { ...alice, ifMatch: saved.etag },
    );
    expect(shared.mockup.shares).toEqual(shares);
    expect(shared.etag).not.toBe(saved.etag);
    const unshared = await client.shareMockup(mockupId, { shares: [] }, alice);
    expect(unshared.mockup).not.toHaveProperty('shares');

    const tagged = await client.updateVersion(
      mockupId,
      saved.version.id,
      { versionTag: 'one' },
      { ...alice, ifMatch: unshared.etag },
    );
    expect(tagged.version).toEqual({ ...saved.version, versionTag: 'one' });
    const restored = await client.restoreVersion(mockupId, saved.version.id, {
      ...alice,
      ifMatch: tagged.etag,
    });
    expect(restored.version).not.toHaveProperty('versionTag');
    expect(restored.version).toMatchObject({
      layoutData: saved.version.layoutData,
      restoredFrom: saved.version.id,
    });

    const copy = await client.duplicateMockup(
      mockupId,
      { name: 'Copy', withHistory: true },
      alice,
    );
    await expect(client.getMockup(copy.mockup.id, alice)).resolves.toEqual(
      copy,
    );
    const bare = await client.duplicateMockup(mockupId, undefined, alice);
    expect(bare.mockup.name).toBe('Checkout (copy)');

    await client.deleteMockup(mockupId, alice);
    await expect(client.getMockup(mockupId, alice)).resolves.toBeUndefined();
    await expect(
      client.listTrash({ search: 'checkout' }, alice),
    ).resolves.toMatchObject({
      items: [{ id: mockupId, deletedBy: ALICE }],
      totalItems: 1,
    });
    const back = await client.restoreMockup(mockupId, alice);
    await expect(client.getMockup(mockupId, alice)).resolves.toMatchObject({
      mockup: back.mockup,
      etag: back.etag,
    });
    await client.deleteMockup(mockupId, { ...alice, ifMatch: back.etag });
    await client.purgeMockup(mockupId, alice);
    await expect(client.listTrash({}, alice)).resolves.toEqual({
      items: [],
      totalItems: 0,
    });
  });

  it('reaches pages', async () => {
    const { mockup } = await client.createMockup({ name: 'Start' }, alice);
    const { version } = await client.saveVersion(
      mockup.id,
      { layoutData: [item()] },
      alice,
    );
    const page = await client.publishPage(
      'start',
      {
        mockupId: mockup.id,
        versionId: version.id,
        audience: 'everybody',
        home: true,
      },
      alice,
    );
    expect(page).toMatchObject({ path: 'start', publication: { home: true } });
    await expect(client.listPagesOf(mockup.id, alice)).resolves.toEqual([page]);
    await expect(client.listPages(alice)).resolves.toEqual([page]);
    await expect(client.getPage('start', alice)).resolves.toEqual({
      ...page,
      layoutData: version.layoutData,
    });
    await expect(client.getHomePage(alice)).resolves.toMatchObject({
      path: 'start',
    });
    await client.takePageBack('start', alice);
    await expect(client.getPage('start', alice)).resolves.toBeUndefined();
    await expect(client.getHomePage(alice)).resolves.toBeUndefined();
  });

  it('reaches what reviews a mockup', async () => {
    const bob = { token: mockCredentials.user.token(BOB) };
    const reviewed = await client.createMockup({ name: 'Reviewed' }, alice);
    const mockupId = reviewed.mockup.id;
    const { version } = await client.saveVersion(
      mockupId,
      { layoutData: [item()] },
      alice,
    );
    const said = await client.createComment(
      mockupId,
      { text: 'Too wide' },
      bob,
    );
    const resolved = await client.updateComment(
      mockupId,
      said.id,
      { resolved: true },
      alice,
    );
    expect(resolved).toMatchObject({ ...said, resolvedBy: ALICE });
    await expect(client.listComments(mockupId, alice)).resolves.toEqual([
      resolved,
    ]);
    await client.deleteComment(mockupId, said.id, bob);
    await expect(client.listComments(mockupId, alice)).resolves.toEqual([]);

    const ready = await client.markReady(mockupId, version.id, bob);
    await expect(client.getReview(mockupId, alice)).resolves.toEqual({
      isRequired: false,
      ready: [ready],
    });
    await client.unmarkReady(mockupId, version.id, bob);
    const settings = { reviewRequired: true };
    await client.updateSettings(settings, alice);
    await expect(client.getSettings(bob)).resolves.toEqual(settings);

    await expect(client.announceEditor(mockupId, alice)).resolves.toEqual([]);
    await expect(client.announceEditor(mockupId, bob)).resolves.toEqual([
      ALICE,
    ]);
  });

  it('saves behind a proxy that compresses answers, which makes their entity tags weak', async () => {
    const proxied = new MockupClient({
      discoveryApi: {
        getBaseUrl: async pluginId =>
          `http://localhost:${backend.server.port()}/api/${pluginId}`,
      },
      fetchApi: {
        fetch: async (...request) => {
          const { status, headers, body } = await fetch(...request);
          const tag = `W/${headers.get('ETag')}`;
          return new Response(body, { status, headers: { ETag: tag } });
        },
      },
    });
    const { mockup, etag } = await proxied.createMockup({ name: 'x' }, alice);
    await proxied.updateMockup(
      mockup.id,
      { name: 'y' },
      { ...alice, ifMatch: etag },
    );
    await expect(proxied.getMockup(mockup.id, alice)).resolves.toMatchObject({
      mockup: { name: 'y' },
    });
  });

  it('returns nothing for what does not exist', async () => {
    await expect(client.getMockup('a/b?c', alice)).resolves.toBeUndefined();
    await expect(
      client.getVersion(UNKNOWN_ID, UNKNOWN_ID, alice),
    ).resolves.toBeUndefined();
  });

  it('rejects with the status and message of the plugin', async () => {
    await expect(
      client.createMockup({ name: '' }, alice),
    ).rejects.toMatchObject({
      name: 'ResponseError',
      statusCode: 400,
      cause: {
        name: 'InputError',
        message: expect.stringContaining('name must be a string of 1 to 255'),
      },
    });
    await expect(client.getMockup(UNKNOWN_ID, alice)).resolves.toBeUndefined();
    await expect(
      client.getMockup(UNKNOWN_ID, { token: 'of.a.stranger' }),
    ).rejects.toMatchObject({ statusCode: 401 });

    const { mockup, etag } = await client.createMockup({ name: 'x' }, alice);
    await client.updateMockup(mockup.id, { name: 'y' }, alice);
    await expect(
      client.updateMockup(
        mockup.id,
        { name: 'z' },
        { ...alice, ifMatch: etag },
      ),
    ).rejects.toMatchObject({ statusCode: 412 });
  });
});
