import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import {
  createTestDatabases,
  eventually,
  waitUntil,
} from '@internal/postgres/testUtils';
import {
  OpenTenantGate,
  tenantGateServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { MOCKUP_LIMITS, MockupClient } from 'backstage-plugin-mockup-common';
import express, { type Request } from 'express';
import fc from 'fast-check';
import type { Response } from 'supertest';
import assert from 'node:assert';
import { once } from 'node:events';
import { get, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { Worker, WorkerOptions } from 'node:worker_threads';
import { isSafeKey } from '../__testUtils__/json';
import { ImportsUnderWay } from '../database/MockupImport';
import { createMockupFileReader } from './request/mockupFile';
import {
  ALICE,
  BOB,
  item,
  startMockupBackend,
  testBackend,
} from '../__testUtils__/startMockupBackend';

/** The threads that were started. */
const mockThreads: { worker: Worker; options: WorkerOptions }[] = [];
jest.mock('node:worker_threads', () => {
  const threads = jest.requireActual('node:worker_threads');
  class RecordedWorker extends threads.Worker {
    constructor(code: string, options: WorkerOptions) {
      super(code, options);
      mockThreads.push({ worker: this as unknown as Worker, options });
    }
  }
  return { ...threads, Worker: RecordedWorker };
});

const databases = createTestDatabases({ versions: 'newest' });

// More of them: MOCKUP_FILES=500.
const RUNS = Number(process.env.MOCKUP_FILES ?? 40);
const MAX_BYTES = 6 * 1024 * 1024;
const MAX_VERSIONS = 2500;

// Together they exceed what the buffers of two sockets and a page of versions hold.
const LARGE_VERSIONS = 30;
const LARGE_TEXT = 900_000;

const TIME = '2026-01-31T12:00:00.000Z';

function version(overrides: object = {}) {
  return {
    layoutData: [item()],
    createdBy: BOB,
    createdAt: TIME,
    ...overrides,
  };
}

function mockup(
  overrides: { versions?: object[]; [field: string]: unknown } = {},
) {
  const { versions = [version()], ...fields } = overrides;
  return {
    name: 'Checkout',
    createdAt: TIME,
    updatedAt: TIME,
    ...fields,
    versions,
  };
}

function file(...mockups: object[]) {
  return { schema: 'backstage-plugin-mockup/mockups', version: 1, mockups };
}

describe.each(databases.eachSupportedId())('files of mockups on %s', id => {
  let client: MockupClient;
  let gate: OpenTenantGate;

  const logger = mockServices.rootLogger.mock();
  logger.child.mockReturnValue(logger);

  const alice = { token: mockCredentials.user.token(ALICE) };

  const backend = testBackend(databases, id, {
    features: [
      logger.factory,
      mockServices.rootConfig.factory({
        data: {
          mockup: {
            import: { maxBytes: MAX_BYTES, maxVersions: MAX_VERSIONS },
          },
        },
      }),
      createServiceFactory({
        service: tenantGateServiceRef,
        deps: { httpRouter: coreServices.httpRouter },
        factory: ({ httpRouter }) => {
          gate = new OpenTenantGate(httpRouter);
          return gate;
        },
      }),
    ],
  });

  beforeAll(async () => {
    ({ client } = backend);
  });

  beforeEach(async () => {
    await backend.knex('mockups').delete();
  });

  /** Parses here, because objects of another realm are deep-equal to none. */
  const exportAll = async () =>
    JSON.parse(await (await client.exportMockups(alice)).text());

  const send = (body: string) =>
    backend.alice
      .post('/import')
      .set('Content-Type', 'application/json')
      .send(body);

  it('have the mockup with all of its versions, the oldest first, and what each restored', async () => {
    const { body: created } = await backend.alice.post('/mockups', {
      name: 'Checkout',
      description: 'The last step',
    });
    const path = `/mockups/${created.id}`;
    const first = await backend.alice.post(`${path}/versions`, {
      layoutData: [item()],
      versionTag: 'first',
      message: 'It begins',
    });
    await backend.bob.post(`${path}/versions`, { layoutData: [] });
    const restored = await backend.alice.post(
      `${path}/versions/${first.body.id}/restore`,
      {},
    );
    const response = await backend.alice.get(`${path}/export`);
    expect(response.status).toBe(200);
    expect(response.get('Content-Type')).toMatch(/^application\/json/);
    expect(response.get('Content-Disposition')).toBe(
      `attachment; filename="mockup-${created.id}.json"`,
    );
    expect(response.body).toEqual(
      file({
        name: 'Checkout',
        description: 'The last step',
        owner: ALICE,
        createdAt: created.createdAt,
        updatedAt: restored.body.createdAt,
        versions: [
          {
            versionTag: 'first',
            message: 'It begins',
            layoutData: [item()],
            createdBy: ALICE,
            createdAt: first.body.createdAt,
          },
          {
            layoutData: [],
            createdBy: BOB,
            createdAt: expect.any(String),
          },
          {
            layoutData: [item()],
            createdBy: ALICE,
            createdAt: restored.body.createdAt,
            restoredFrom: 0,
          },
        ],
      }),
    );
  });

  it('are read in many turns of the event loop, also without versions', async () => {
    const mockups = Array.from({ length: 5000 }, () =>
      mockup({ versions: [] }),
    );
    let turns = 0;
    let isAnswered = false;
    const count = () => {
      turns += 1;
      if (!isAnswered) {
        setImmediate(count);
      }
    };
    setImmediate(count);
    // The last one is wrong: none is written.
    const body = JSON.stringify(file(...mockups, mockup({ name: '' })));
    const { status } = await send(body);
    isAnswered = true;
    expect(status).toBe(400);
    expect(turns).toBeGreaterThan(5000);
  });

  it('go on beyond a page of mockups and of versions', async () => {
    await backend
      .knex('mockups')
      .insert(
        Array.from({ length: 203 }, (_, n) => ({ name: `${n}`, owner: ALICE })),
      );
    const { body } = await backend.alice.post('/mockups', { name: 'last' });
    const large = [item({ props: { text: 'x'.repeat(900_000) } })];
    for (let n = 0; n < 6; n += 1) {
      await backend.alice.post(`/mockups/${body.id}/versions`, {
        layoutData: large,
        versionTag: `${n}`,
      });
    }
    const { mockups } = await exportAll();
    expect(mockups).toHaveLength(204);
    expect(
      mockups
        .at(-1)
        .versions.map((each: { versionTag: string }) => each.versionTag),
    ).toEqual(['0', '1', '2', '3', '4', '5']);
  });

  /** More than lies between a backend and a caller who does not read. */
  const createLargeMockup = async () => {
    const { body } = await backend.alice.post('/mockups', { name: 'large' });
    await backend.knex.raw(
      `insert into mockup_versions (mockup_id, layout_data, created_by, created_at)
       select :id, jsonb_set(:layout, '{0,props,text}', to_jsonb(repeat('x', :length))),
              :user, timestamptz '2026-01-31' + n * interval '1 second'
         from generate_series(1, :versions) n`,
      {
        id: body.id,
        layout: JSON.stringify([item()]),
        length: LARGE_TEXT,
        user: ALICE,
        versions: LARGE_VERSIONS,
      },
    );
    return body.id as string;
  };

  /** Asks for an export, and returns once its first bytes are here; no more are read. */
  const beginExport = async (path: string) => {
    const asked = get({
      port: backend.server.port(),
      path: `/api/mockup/${path}`,
      headers: { Authorization: `Bearer ${alice.token}` },
    });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    await once(response, 'readable');
    return response;
  };

  it('are read as fast as their reader takes them, and break off where the mockup is deleted meanwhile', async () => {
    const large = await createLargeMockup();
    const response = await beginExport(`mockups/${large}/export`);
    await backend.knex('mockups').delete();
    // Whole, had the backend read all versions before the caller did.
    await expect(textOf(response)).rejects.toThrow('aborted');
  });

  it.each(['mockups/<id>/export', 'export'])(
    'break off at %s where their reader is removed from the tenant meanwhile',
    async path => {
      const large = await createLargeMockup();
      const response = await beginExport(path.replace('<id>', large));
      const stillAdmits = jest
        .spyOn(gate, 'stillAdmits')
        .mockResolvedValue(false);
      try {
        await expect(textOf(response)).rejects.toThrow('aborted');
      } finally {
        stillAdmits.mockRestore();
      }
    },
  );

  it('end without an error in the log where their reader leaves', async () => {
    const large = await createLargeMockup();
    const stillAdmits = jest.spyOn(gate, 'stillAdmits');
    try {
      const response = await beginExport(`mockups/${large}/export`);
      const [[{ res }]] = stillAdmits.mock.calls as unknown as [Request][];
      const pages = stillAdmits.mock.calls.length;
      logger.error.mockClear();
      const closed = once(res!, 'close');
      response.destroy();
      await closed;
      // When this is answered, the error of another would be logged.
      expect((await backend.alice.get('/mockups')).status).toBe(200);
      expect(logger.error).not.toHaveBeenCalled();
      expect(stillAdmits).toHaveBeenCalledTimes(pages);
    } finally {
      stillAdmits.mockRestore();
    }
  });

  it('are refused to a reader who was removed before their end, also without mockups', async () => {
    await backend.knex('mockups').delete();
    const stillAdmits = jest
      .spyOn(gate, 'stillAdmits')
      .mockResolvedValue(false);
    try {
      expect((await backend.alice.get('/export')).status).toBe(403);
    } finally {
      stillAdmits.mockRestore();
    }
  });

  it('are not read beyond the first page for HEAD', async () => {
    const large = await createLargeMockup();
    const stillAdmits = jest.spyOn(gate, 'stillAdmits');
    try {
      const { status, headers } = await fetch(
        `http://localhost:${backend.server.port()}/api/mockup/mockups/${large}/export`,
        {
          method: 'HEAD',
          headers: { Authorization: `Bearer ${alice.token}` },
        },
      );
      expect([status, headers.get('Content-Disposition')]).toEqual([
        200,
        `attachment; filename="mockup-${large}.json"`,
      ]);
      // Before each page.
      expect(stillAdmits).toHaveBeenCalledTimes(1);
    } finally {
      stillAdmits.mockRestore();
    }
  });

  it('leave out mockups that are deleted before their turn', async () => {
    await createLargeMockup();
    const { body } = await backend.alice.post('/mockups', { name: 'deleted' });
    await backend.alice.post(`/mockups/${body.id}/versions`, {
      layoutData: [item()],
    });
    const response = await beginExport('export');
    await backend.knex('mockups').where({ id: body.id }).delete();
    const { mockups } = JSON.parse(await textOf(response));
    expect(mockups.map((each: { name: string }) => each.name)).toEqual([
      'large',
    ]);
    expect(mockups[0].versions).toHaveLength(LARGE_VERSIONS);
  });

  it('make the caller the owner, and keep who saved a version and when', async () => {
    const given = file(
      mockup({
        owner: BOB,
        versions: [
          version({ versionTag: 'first' }),
          version({ createdAt: '2026-02-01T00:00:00.000Z', restoredFrom: 0 }),
        ],
      }),
    );
    const response = await send(JSON.stringify(given));
    expect(response.status).toBe(201);
    expect(response.body).toEqual({
      mockups: [
        {
          id: expect.any(String),
          name: 'Checkout',
          owner: ALICE,
          createdAt: TIME,
          updatedAt: '2026-02-01T00:00:00.000Z',
        },
      ],
    });
    const [{ id: imported }] = response.body.mockups;
    const { body: versions } = await backend.alice.get(
      `/mockups/${imported}/versions`,
    );
    expect(versions).toMatchObject([
      { createdAt: '2026-02-01T00:00:00.000Z', restoredFrom: versions[1].id },
      { createdAt: TIME, createdBy: BOB, versionTag: 'first' },
    ]);
    // The next version is the newest.
    await backend.alice.post(`/mockups/${imported}/versions`, {
      layoutData: [],
    });
    const { body: after } = await backend.alice.get(`/mockups/${imported}`);
    expect(after.latestVersion.layoutData).toEqual([]);
  });

  it('are imported once where they are sent again with their Idempotency-Key', async () => {
    const versions = [version(), version({ restoredFrom: 0 })];
    const given = JSON.stringify(file(mockup(), mockup({ versions })));
    const attempt = (idempotencyKey: string, caller = alice) =>
      client.importMockups(given, { ...caller, idempotencyKey });
    const [first, second] = await attempt('dialog 1');
    const renamed = await client.updateMockup(
      first.id,
      { name: 'Payment' },
      alice,
    );
    await expect(attempt('dialog 1')).resolves.toEqual([
      renamed.mockup,
      second,
    ]);
    const { items } = await client.listVersions(second.id, {}, alice);
    expect(items).toHaveLength(2);
    await attempt('dialog 2');
    const bob = { token: mockCredentials.user.token(BOB) };
    const [bobs] = await attempt('dialog 1', bob);
    expect(bobs.owner).toBe(BOB);
    await expect(client.listMockups({}, alice)).resolves.toMatchObject({
      totalItems: 6,
    });
  });

  it('are imported again with the same Idempotency-Key where only a version of theirs is another', async () => {
    const attempt = (versionTag: string) =>
      client.importMockups(
        JSON.stringify(file(mockup({ versions: [version({ versionTag })] }))),
        { ...alice, idempotencyKey: 'dialog 3' },
      );
    const [first] = await attempt('a');
    const [second] = await attempt('b');
    expect(second.id).not.toBe(first.id);
    const { items } = await client.listVersions(second.id, {}, alice);
    expect(items).toMatchObject([{ versionTag: 'b' }]);
  });

  it('keep no time that is in the future, and the order of their versions', async () => {
    const future = '2999-01-01T00:00:00.000Z';
    const [imported] = await client.importMockups(
      JSON.stringify(
        file(
          mockup({
            createdAt: future,
            updatedAt: future,
            versions: ['a', 'b', 'c'].map((versionTag, n) =>
              version({ versionTag, createdAt: [future, TIME, future][n] }),
            ),
          }),
        ),
      ),
      alice,
    );
    expect(new Date(imported.updatedAt).getTime()).toBeLessThan(
      Date.now() + 60_000,
    );
    const { items } = await client.listVersions(imported.id, {}, alice);
    expect(items.map(({ versionTag }) => versionTag)).toEqual(['c', 'b', 'a']);
  });

  const text = fc
    .oneof(fc.string({ unit: 'binary' }), fc.string())
    .filter(value => !value.includes('\0'));
  const time = fc
    .date({
      min: new Date('2020-01-01T00:00:00Z'),
      max: new Date('2026-01-01T00:00:00Z'),
      noInvalidDate: true,
    })
    .map(date => date.toISOString());
  const props = fc.dictionary(
    fc
      .oneof(text, fc.constantFrom('__proto__', 'constructor', '"', '\\'))
      .filter(isSafeKey),
    fc.oneof(
      text,
      fc.constantFrom('"', '\\', '\\"', '{', ']', ','),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.array(fc.constantFrom(null, true, '[{', '}'), { maxLength: 3 }),
    ),
  );
  const files = fc
    .array(
      fc.tuple(
        fc.record(
          {
            name: text.filter(
              value => value.trim() !== '' && value.length <= 255,
            ),
            description: text.filter(value => value.length <= 1000),
          },
          { requiredKeys: ['name'] },
        ),
        fc.array(
          fc.record(
            {
              versionTag: text.filter(value => value.length <= 50),
              message: text.filter(value => value.length <= 1000),
              layoutData: fc
                .uniqueArray(fc.tuple(text, props), {
                  selector: ([i]) => i,
                  maxLength: 4,
                })
                .map(items =>
                  items.map(([i, each]) => item({ i, props: each })),
                ),
              createdBy: fc.constantFrom(ALICE, BOB),
              restoredFrom: fc.nat(3),
            },
            { requiredKeys: ['layoutData', 'createdBy'] },
          ),
          { maxLength: 4 },
        ),
        fc
          .array(time, { minLength: 6, maxLength: 6 })
          .map(times => times.sort()),
      ),
      { maxLength: 4 },
    )
    .map(mockups =>
      JSON.parse(
        JSON.stringify(
          file(
            ...mockups
              .map(([head, versions, times]) => ({
                ...head,
                owner: ALICE,
                createdAt: times[0],
                updatedAt: times[5],
                versions: versions.map(({ restoredFrom, ...each }, index) => ({
                  ...each,
                  createdAt: times[1 + index],
                  ...(restoredFrom !== undefined &&
                    restoredFrom < index && { restoredFrom }),
                })),
              }))
              // As an export orders them.
              .sort((a, b) => a.createdAt.localeCompare(b.createdAt)),
          ),
        ),
      ),
    )
    // Those of the same millisecond have no order of their own.
    .filter(({ mockups }) => {
      const times = mockups.map(
        (each: { createdAt: string }) => each.createdAt,
      );
      return new Set(times).size === times.length;
    });

  it('come out as they went in', async () => {
    let versions = 0;
    await fc.assert(
      fc.asyncProperty(files, async given => {
        await backend.knex('mockups').delete();
        const imported = await client.importMockups(
          JSON.stringify(given),
          alice,
        );
        expect(imported).toHaveLength(given.mockups.length);
        const exported = await exportAll();
        assert.deepStrictEqual(exported, given);
        versions += given.mockups.flatMap(
          (each: { versions: object[] }) => each.versions,
        ).length;
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    expect(versions).toBeGreaterThan(RUNS);
  });

  it.each([
    [
      'a newer version',
      { ...file(), version: 2 },
      'version must be 1, as this version of the plugin writes it, got 2',
    ],
    [
      'an unknown field before the versions',
      file({ id: 1, ...mockup() }),
      'unknown field "id" in mockups[0]',
    ],
    [
      'a mockup without versions',
      file({ ...mockup(), versions: undefined }),
      'mockups[0].versions is missing, expected a list of versions',
    ],
    [
      'too many mockups',
      file(...Array(MOCKUP_LIMITS.importedMockups + 1).fill({})),
      'mockups must be at most 10000 mockups',
    ],
    [
      'a wrong time',
      file(mockup({ versions: [version({ createdAt: 'now' })] })),
      'mockups[0].versions[0].createdAt must be a time in ISO 8601 and UTC, such as 2026-01-31T12:00:00.000Z, got "now"',
    ],
    [
      'a wrong item',
      file(
        mockup(),
        mockup({
          versions: [
            version(),
            version({ layoutData: [item(), item({ i: 'b', w: 0 })] }),
          ],
        }),
      ),
      'mockups[1].versions[1].layoutData[1].w must be an integer >= 1, got 0',
    ],
    [
      'a version that restored itself',
      file(mockup({ versions: [version({ restoredFrom: 0 })] })),
      'mockups[0].versions[0].restoredFrom must be the place of an earlier version',
    ],
  ])(
    'with %s are refused, by the path and the form',
    async (_what, body, message) => {
      const response = await send(JSON.stringify(body));
      expect(response.status).toBe(400);
      expect(response.body.error.message).toContain(`Invalid file: ${message}`);
      expect(await backend.knex('mockups')).toEqual([]);
    },
  );

  const whole = JSON.stringify(file(mockup(), mockup()));
  it.each([
    ['that ends too early', whole.slice(0, -9), "it can't be parsed as JSON: "],
    [
      'nested deeper than they can be handed on',
      whole.replace('"Checkout"', `${'{"":'.repeat(3000)}0${'}'.repeat(3000)}`),
      "mockups[0] can't be parsed as JSON: Maximum call stack size exceeded",
    ],
    [
      'with a version larger than any layout',
      whole.replace(BOB, 'x'.repeat(MOCKUP_LIMITS.layoutBytes)),
      'mockups[0].versions[0] is larger than 4194304 characters',
    ],
  ])('%s are refused, by the place', async (_what, body, message) => {
    const response = await send(body);
    expect(response.status).toBe(400);
    expect(response.body.error.message).toContain(`Invalid file: ${message}`);
    expect(await backend.knex('mockups')).toEqual([]);
  });

  it('are parsed in a thread of their own, without the environment, which ends with them', async () => {
    const parse = jest.spyOn(JSON, 'parse');
    mockThreads.length = 0;
    try {
      const large = version({
        layoutData: [item({ props: { text: 'x'.repeat(LARGE_TEXT) } })],
      });
      const response = await send(
        JSON.stringify(file(mockup({ versions: Array(5).fill(large) }))),
      );
      expect(response.status).toBe(201);
      const sizes = parse.mock.calls.map(([json]) => json.length);
      expect(Math.max(0, ...sizes)).toBeLessThan(LARGE_TEXT);
      const [{ worker, options }] = mockThreads;
      const { env, resourceLimits } = options;
      expect([worker.threadId, env, resourceLimits]).toEqual([
        -1,
        {},
        { maxOldGenerationSizeMb: expect.any(Number) },
      ]);
    } finally {
      parse.mockRestore();
    }
  });

  const many = (count: number) =>
    JSON.stringify(
      file(
        mockup({
          versions: Array.from({ length: count }, (_, n) =>
            version({ layoutData: [], versionTag: `${n}` }),
          ),
        }),
      ),
    );

  it('of more versions than one file may have create nothing', async () => {
    const response = await send(many(MAX_VERSIONS + 1));
    expect(response.status).toBe(400);
    expect(response.body.error.message).toBe(
      `Invalid file: it must have at most ${MAX_VERSIONS} versions (mockup.import.maxVersions)`,
    );
    expect(await backend.knex('mockups')).toEqual([]);
  });

  it('keep the order of versions, of which the file has one time, over several statements', async () => {
    const response = await send(many(MAX_VERSIONS));
    expect(response.status).toBe(201);
    const tags = await backend
      .knex('mockup_versions')
      .orderBy('created_at')
      .pluck('version_tag');
    expect(tags).toEqual(
      Array.from({ length: MAX_VERSIONS }, (_, n) => String(n)),
    );
  });

  /** While nothing can be inserted. */
  async function whileImporting(work: () => Promise<void>): Promise<void> {
    await backend.knex.transaction(async held => {
      await held.raw('lock table mockup_versions in share mode');
      await work();
    });
  }
  const waiting = () =>
    waitUntil('the import to wait for the lock', async () => {
      const { rows } = await backend.knex.raw(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
            and query ilike '%insert into mockup_versions%'`,
      );
      return rows.length > 0;
    });

  it('are refused with 429 while another one of the tenant is under way, in this process and in others', async () => {
    let first: Promise<Response> | undefined;
    await whileImporting(async () => {
      first = send(many(2)).then(response => response);
      await waiting();
      const second = await send(many(1));
      expect([second.status, second.get('Retry-After')]).toEqual([429, '1']);
      const elsewhere = await startMockupBackend({
        knex: backend.knex,
      });
      try {
        const third = await elsewhere.alice
          .post('/import')
          .set('Content-Type', 'application/json')
          .send(many(1));
        expect([third.status, third.body.error.name]).toEqual([
          429,
          'ImportUnderWayError',
        ]);
      } finally {
        await elsewhere.server.stop();
      }
    });
    await expect(first).resolves.toMatchObject({ status: 201 });
    await expect(send(many(1))).resolves.toMatchObject({ status: 201 });
  });

  it('wait, unread, while four of other tenants are under way in the process, and take turns', async () => {
    const imports = new ImportsUnderWay();
    const begun: string[] = [];
    const ends: Array<() => void> = [];
    const start = (tenant: string) =>
      imports.run(tenant, async () => {
        begun.push(tenant);
        await new Promise<void>(end => ends.push(end));
      });
    const running = [...'abcdef'].map(start);
    await expect(start('e')).rejects.toThrow('Another import is under way');
    expect(begun.join('')).toBe('abcd');
    ends[0]();
    await running[0];
    running.push(start('a'));
    await eventually(() => expect(begun.join('')).toBe('abcde'));
    ends[1]();
    ends[2]();
    await eventually(() => expect(begun.join('')).toBe('abcdefa'));
    ends.slice(3).forEach(end => end());
    await Promise.all(running);
  });

  /** The answer to a file of which the caller sends parts, each after a time. */
  async function answerTo(readMs: number, parts: [ms: number, text: string][]) {
    const app = express();
    const readFile = createMockupFileReader({
      maxBytes: MAX_BYTES,
      maxVersions: MAX_VERSIONS,
      readMs,
    });
    app.post('/', async (req, res) => {
      const read = readFile(req, res);
      const { statusCode, message } = await read.next().then(
        () => ({ statusCode: 200, message: 'OK' }),
        error => error,
      );
      await read.return(undefined);
      res.statusMessage = message;
      res.status(statusCode).end();
    });
    const server = app.listen(0, 'localhost');
    await once(server, 'listening');
    const sent = request({
      port: (server.address() as AddressInfo).port,
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': parts.map(([, part]) => part).join('').length,
      },
    });
    let response: IncomingMessage | undefined;
    sent.once('response', received => {
      response = received;
    });
    // It is cut off where it is refused.
    sent.on('error', () => {});
    for (const [ms, part] of parts) {
      if (!response) {
        sent.write(part);
        await delay(ms);
      }
    }
    const answer = await waitUntil('an answer', () => response);
    sent.destroy();
    server.close();
    return answer;
  }

  it('that do not arrive in time get 408, and their connection ends', async () => {
    const response = await answerTo(60, [
      [1_000, 'x'.repeat(MAX_BYTES / 2)],
      [0, 'x'],
    ]);
    expect(response.statusCode).toBe(408);
    expect(response.headers.connection).toBe('close');
  });

  it('that hardly arrive get 408 before the time is over: others wait for their turn', async () => {
    const drops = Array.from({ length: 100 }, (): [number, string] => [
      50,
      ' ',
    ]);
    const response = await answerTo(3_000, drops);
    expect(response.statusCode).toBe(408);
    expect(response.statusMessage).toContain('bytes a second');
  });

  it('that arrive fast enough have all of the time', async () => {
    const response = await answerTo(6_000, [
      [1_500, ' '.repeat(256 * 1024)],
      [0, JSON.stringify(file(mockup()))],
    ]);
    expect(response.statusCode).toBe(200);
  });

  it('end, and create nothing, when their caller leaves', async () => {
    await whileImporting(async () => {
      const leaving = new AbortController();
      const left = fetch(
        `http://localhost:${backend.server.port()}/api/mockup/import`,
        {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${alice.token}`,
            'Content-Type': 'application/json',
          },
          body: many(MAX_VERSIONS),
          signal: leaving.signal,
        },
      ).catch(error => error);
      await waiting();
      leaving.abort();
      await left;
    });
    await eventually(async () => {
      await expect(send(many(1))).resolves.toMatchObject({ status: 201 });
    });
    await expect(backend.knex('mockup_versions')).resolves.toHaveLength(1);
  });

  it('that the database refuses in the middle create nothing', async () => {
    // Numbers whose digits only the database writes out.
    const data = Array.from({ length: 15_000 }, () => 1e300);
    const response = await send(
      JSON.stringify(
        file(
          mockup(),
          mockup({
            versions: [version({ layoutData: [item({ props: { data } })] })],
          }),
        ),
      ),
    );
    expect(response.status).toBe(400);
    expect(response.body.error.message).toContain('layout_size');
    expect(await backend.knex('mockups')).toEqual([]);
    expect(await backend.knex('mockup_versions')).toEqual([]);
  });

  it('beyond the configured size are refused with 413 where their size is not told before', async () => {
    const chunk = Buffer.alloc(64 * 1024, ' ');
    const response = await fetch(
      `http://localhost:${backend.server.port()}/api/mockup/import`,
      {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${alice.token}`,
          'Content-Type': 'application/json',
        },
        body: new ReadableStream({
          start(controller) {
            for (let sent = 0; sent <= MAX_BYTES; sent += chunk.length) {
              controller.enqueue(chunk);
            }
            controller.close();
          },
        }),
        duplex: 'half',
      } as RequestInit,
    );
    expect(response.status).toBe(413);
  });
});
