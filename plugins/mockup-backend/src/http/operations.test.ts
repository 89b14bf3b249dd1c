import { createServiceFactory } from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import { mockServices } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { testBackend, UNKNOWN_ID } from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('operations on %s', id => {
  const auditor = mockServices.auditor.mock();
  const count = { add: jest.fn() };
  const duration = { record: jest.fn() };
  const success = jest.fn();
  const fail = jest.fn();

  const backend = testBackend(databases, id, {
    features: [
      auditor.factory,
      createServiceFactory({
        service: metricsServiceRef,
        deps: {},
        factory: () =>
          ({
            createCounter: () => count,
            createHistogram: () => duration,
          } as unknown as typeof metricsServiceRef.T),
      }),
    ],
  });

  beforeEach(() => {
    jest.clearAllMocks();
    auditor.createEvent.mockResolvedValue({ success, fail });
  });

  it('audits every write, by user, mockup and outcome', async () => {
    const { body } = await backend.alice.post('/mockups', { name: 'x' });
    const path = `/mockups/${body.id}`;
    const saved = await backend.alice.post(`${path}/versions`, {
      layoutData: [],
    });
    await backend.alice.patch(path, { name: 'y' });
    const vid = saved.body.id;
    const version = `${path}/versions/${vid}`;
    await backend.alice.patch(version, { versionTag: 'z' });
    const restored = await backend.alice.post(`${version}/restore`);
    const copy = await backend.alice.post(`${path}/duplicate`);
    await backend.alice.delete(path);
    await backend.alice.post(`/trash/${body.id}/restore`);
    await backend.alice.delete(path);
    await backend.alice.delete(`/trash/${body.id}`);
    const shares = [{ group: 'group:default/designers', access: 'read' }];
    await backend.alice.put(`/mockups/${copy.body.id}/shares`, { shares });

    expect(auditor.createEvent.mock.calls.map(([event]) => event)).toEqual([
      expect.objectContaining({
        eventId: 'create-mockup',
        meta: {},
        // Below that Backstage logs nothing by default.
        severityLevel: 'medium',
      }),
      expect.objectContaining({
        eventId: 'save-version',
        meta: { id: body.id },
      }),
      expect.objectContaining({
        eventId: 'update-mockup',
        meta: { id: body.id },
      }),
      expect.objectContaining({
        eventId: 'update-version',
        meta: { id: body.id, vid },
      }),
      expect.objectContaining({
        eventId: 'restore-version',
        meta: { id: body.id, vid },
      }),
      expect.objectContaining({
        eventId: 'duplicate-mockup',
        meta: { id: body.id },
      }),
      expect.objectContaining({
        eventId: 'delete-mockup',
        meta: { id: body.id },
      }),
      expect.objectContaining({
        eventId: 'restore-mockup',
        meta: { id: body.id },
      }),
      expect.objectContaining({ eventId: 'delete-mockup' }),
      expect.objectContaining({
        eventId: 'purge-mockup',
        meta: { id: body.id },
      }),
      expect.objectContaining({
        eventId: 'share-mockup',
        meta: { id: copy.body.id },
      }),
    ]);
    expect(success.mock.calls).toEqual([
      [{ meta: { id: body.id } }],
      [{ meta: { vid } }],
      [undefined],
      [undefined],
      [{ meta: { restored: restored.body.id } }],
      [{ meta: { copy: copy.body.id } }],
      [undefined],
      [undefined],
      [undefined],
      [undefined],
      [{ meta: { shares } }],
    ]);
    expect(fail).not.toHaveBeenCalled();
  });

  it('audits pages and reviews, by what is published and decided', async () => {
    const { body } = await backend.alice.post('/mockups', { name: 'x' });
    const { id: mockupId } = body;
    const path = `/mockups/${mockupId}`;
    const { body: version } = await backend.alice.post(`${path}/versions`, {
      layoutData: [],
    });
    const vid = version.id;
    const ready = `${path}/versions/${vid}/ready`;
    jest.clearAllMocks();

    const said = await backend.bob.post(`${path}/comments`, { text: 'Wide' });
    const cid = said.body.id;
    await backend.alice.patch(`${path}/comments/${cid}`, { resolved: true });
    await backend.bob.delete(`${path}/comments/${cid}`);
    await backend.bob.put(ready);
    await backend.alice.put('/settings', { reviewRequired: true });
    await backend.alice.put('/pages/start', {
      mockupId,
      versionId: vid,
      audience: 'everybody',
    });
    await backend.alice.delete('/pages/start');
    await backend.alice.delete(ready);

    const events = auditor.createEvent.mock.calls.map(
      ([{ eventId, meta }], call) => [
        eventId,
        meta,
        success.mock.calls[call][0]?.meta,
      ],
    );
    expect(events).toEqual([
      ['create-comment', { id: mockupId }, { cid }],
      ['resolve-comment', { id: mockupId, cid }, { resolved: true }],
      ['delete-comment', { id: mockupId, cid }, undefined],
      ['mark-version', { id: mockupId, vid }, undefined],
      ['update-settings', {}, { reviewRequired: true }],
      [
        'publish-page',
        { path: 'start' },
        {
          id: mockupId,
          vid,
          audience: 'everybody',
          home: false,
          template: false,
        },
      ],
      ['take-page-back', { path: 'start' }, undefined],
      ['unmark-version', { id: mockupId, vid }, undefined],
    ]);
    expect(fail).not.toHaveBeenCalled();
  });

  it('closes the audit event of every write that fails', async () => {
    await backend.alice.post('/mockups', { name: '' });
    await backend.alice.patch(`/mockups/${UNKNOWN_ID}`, { name: 'x' });
    await backend.service.post('/mockups', { name: 'x' });

    expect(auditor.createEvent).toHaveBeenCalledTimes(3);
    expect(success).not.toHaveBeenCalled();
    expect(fail.mock.calls.map(([{ error }]) => error.name)).toEqual([
      'InputError',
      'NotFoundError',
      'NotAllowedError',
    ]);
  });

  it('answers a write once its audit event is closed', async () => {
    let isAnswered: boolean | undefined;
    success.mockImplementationOnce(async () => {
      const [{ request }] = auditor.createEvent.mock.lastCall!;
      isAnswered = request?.res?.writableEnded;
    });
    const { status } = await backend.alice.post('/mockups', { name: 'x' });
    expect([status, isAnswered]).toEqual([201, false]);
  });

  it('does not audit reads', async () => {
    await backend.alice.get('/mockups');
    expect(auditor.createEvent).not.toHaveBeenCalled();
  });

  it('counts and times operations by outcome', async () => {
    const created = await backend.alice.post('/mockups', { name: 'x' });
    const path = `/mockups/${created.body.id}`;
    await backend.alice.post('/mockups', {});
    await backend.alice.get(`/mockups/${UNKNOWN_ID}`);
    await backend.alice.patch(path, { name: 'y' }).set('If-Match', '"1"');
    await backend.service.delete(path);

    expect(count.add.mock.calls).toEqual([
      [1, { operation: 'create-mockup', outcome: 'success' }],
      [1, { operation: 'create-mockup', outcome: 'invalid' }],
      [1, { operation: 'get-mockup', outcome: 'not_found' }],
      [1, { operation: 'update-mockup', outcome: 'conflict' }],
      [1, { operation: 'delete-mockup', outcome: 'denied' }],
    ]);
    expect(duration.record).toHaveBeenCalledTimes(5);
    expect(duration.record).toHaveBeenLastCalledWith(expect.any(Number), {
      operation: 'delete-mockup',
      outcome: 'denied',
    });
  });
});
