import { TestServer } from '@internal/catalog-testing/TestServer';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { createHmac, randomUUID } from 'node:crypto';
import { mockAuditor, mockLogger } from '../__testUtils__/serviceMocks';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../__testUtils__/tenancyDatabase';
import type { AuditConfig } from '../config/AuditConfig';
import { AuditedAdminDatabase } from '../database/AuditedAdminDatabase';
import { PooledTenantDatabase } from '../database/PooledTenantDatabase';
import { WireProxy } from '../database/__testUtils__/WireProxy';
import { auditChange, setAuditRecord } from './auditedChange';
import { PostgresTenantAuditTrail } from './PostgresTenantAuditTrail';
import type { BegunAuditEvent, TenantAuditRecord } from './TenantAuditTrail';

const databases = createTestDatabases({ versions: 'newest' });

const event = (more: Partial<BegunAuditEvent> = {}): BegunAuditEvent => ({
  tenantSlug: 'acme',
  plugin: 'tenants',
  event: 'update-tenant',
  severity: 'medium',
  actor: 'user:default/jane',
  ip: '192.0.2.1',
  userAgent: 'curl/8',
  method: 'PATCH',
  path: '/api/tenants/acme',
  meta: { slug: 'acme' },
  ...more,
});

describe.each(databases.eachSupportedId())('audit trails on %s', id => {
  let database: TenancyDatabase;
  let tenantId: string;
  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
    tenantId = await database.createTenant('acme');
    await database.createTenant('globex');
  });
  afterAll(() => database?.close());
  beforeEach(() => database.client.query('delete from tenant_audit'));

  const open = (config: Partial<AuditConfig> = {}, logger = mockLogger()) =>
    new PostgresTenantAuditTrail({
      config: { keepDays: 90, minSeverity: 'medium', ...config },
      database: new PooledTenantDatabase(database.pool),
      pool: database.pool,
      logger,
    });
  const record = async (
    trail: PostgresTenantAuditTrail,
    more: Partial<BegunAuditEvent> = {},
  ) => {
    const { end } = await trail.begin(event(more));
    await end({ outcome: 'succeeded' });
  };

  it('tell who did what from where, and with what outcome, to the tenant alone', async () => {
    const logger = mockLogger();
    const trail = open({}, logger);
    const { end } = await trail.begin(event({ tenantId }));
    await end({
      outcome: 'failed',
      error: Object.assign(new Error('no such thing'), {
        name: 'NotFoundError',
      }),
      meta: { changes: { tenant_name: 'A' } },
    });
    await record(trail, { tenantSlug: 'globex' });
    // The second is of a tenant that has been purged.
    await Promise.all([
      record(trail, { tenantSlug: 'nobody' }),
      record(trail, { tenantSlug: 'globex', tenantId: randomUUID() }),
    ]);
    expect(logger.error).not.toHaveBeenCalled();
    await expect(trail.list('globex')).resolves.toMatchObject({
      items: [{ event: 'update-tenant' }],
    });
    await expect(trail.list('acme')).resolves.toEqual({
      items: [
        {
          id: expect.any(String),
          at: expect.stringMatching(/Z$/),
          plugin: 'tenants',
          event: 'update-tenant',
          severity: 'medium',
          outcome: 'failed',
          actor: 'user:default/jane',
          ip: '192.0.2.1',
          user_agent: 'curl/8',
          method: 'PATCH',
          path: '/api/tenants/acme',
          error: 'NotFoundError: no such thing',
          meta: { slug: 'acme', changes: { tenant_name: 'A' } },
        },
      ],
      next_cursor: null,
    });
    await expect(trail.list('nobody')).rejects.toThrow(
      "No tenant with the slug 'nobody'",
    );
  });

  it('are kept apart by the predicate and by the policy, each alone', async () => {
    const trail = open();
    await record(trail);
    await record(trail, { tenantSlug: 'globex', event: 'of-globex' });
    const change = (how: string) =>
      database.client.query(
        `alter table tenant_audit ${how} row level security`,
      );
    await change('disable');
    try {
      const { items } = await trail.list('acme');
      expect(items).toMatchObject([{ event: 'update-tenant' }]);
    } finally {
      await change('enable');
    }
    await expect(
      database.pool.query(knex => knex('tenant_audit').select('event'), {
        tenantId,
      }),
    ).resolves.toEqual([{ event: 'update-tenant' }]);
  });

  it('have what has begun and has not ended, as of a process that was killed', async () => {
    const trail = open();
    await trail.begin(event());
    await trail.stop();
    const { items } = await trail.list('acme', { outcome: 'unknown' });
    expect(items).toMatchObject([{ outcome: 'unknown', error: null }]);
  });

  it('are searched, and read in pages', async () => {
    const trail = open();
    for (const name of ['a', 'b', 'c']) {
      await record(trail, {
        event: `put-${name}`,
        actor: `user:default/${name}`,
      });
    }
    const search = async (query: object) =>
      (await trail.list('acme', query)).items.map(each => each.event);
    await expect(search({ actor: 'DEFAULT/B' })).resolves.toEqual(['put-b']);
    await expect(search({ event: 'put-%' })).resolves.toEqual([]);
    await expect(search({ outcome: 'failed' })).resolves.toEqual([]);
    await expect(search({ to: '2020-01-01T00:00:00Z' })).resolves.toEqual([]);
    await expect(
      search({ from: '2020-01-01T00:00:00+01:00', outcome: 'succeeded' }),
    ).resolves.toHaveLength(3);
    const found: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await trail.list('acme', {
        limit: 1,
        ...(cursor && { cursor }),
      });
      found.push(...page.items.map(each => each.event));
      cursor = page.next_cursor;
    } while (cursor);
    expect(found.sort()).toEqual(['put-a', 'put-b', 'put-c']);
  });

  it('hold no secrets, and nothing of an internal error but its kind', async () => {
    const trail = open();
    const { end } = await trail.begin(
      event({
        userAgent: 'a\0b',
        // With backend.trustProxy: true, the text of a client.
        ip: 'x'.repeat(2_000),
        meta: {
          clientSecret: 'hidden-1',
          url: 'https://user:hidden-2@example.com/?access_token=hidden-3&b=1',
          list: [{ header: 'Bearer hidden-4-long-enough' }],
          number: 1n,
        },
      }),
    );
    await end({
      outcome: 'failed',
      error: new Error('insert into secrets values (hidden-5)'),
      meta: { more: 2n },
    });
    const [stored] = (await trail.list('acme')).items;
    expect(JSON.stringify(stored)).not.toContain('hidden');
    expect(stored).toMatchObject({
      error: 'Error',
      user_agent: 'ab',
      ip: `${'x'.repeat(1_000)}…`,
      meta: {
        url: 'https://[removed]@example.com/?access_token=[removed]&b=1',
        number: '1',
      },
    });
  });

  describe('of a change of the registry', () => {
    const run = async (
      begun: TenantAuditRecord,
      statement: string,
      { meta = {}, pool = database.pool } = {},
    ) => {
      const audited = { success: async () => {}, fail: async () => {} };
      setAuditRecord(audited, begun);
      const auditor = mockAuditor();
      auditor.createEvent.mockResolvedValue(audited);
      const admin = new AuditedAdminDatabase({ pool, auditor });
      await auditChange(
        audited,
        async () => meta,
        () =>
          admin.run('change', ({ knex, query }) => query(knex.raw(statement))),
      );
    };
    const change = async (
      trail: PostgresTenantAuditTrail,
      statement: string,
      meta: Record<string, unknown> = { a: 1 },
    ) => {
      const begun = await trail.begin(event());
      await run(begun, statement, { meta });
      return begun;
    };
    const stored = async () =>
      (
        await database.client.query(
          `select a.outcome, a.meta, a.xmin = t.xmin as "isOfChange"
             from tenant_audit a join tenants t using (tenant_id)`,
        )
      ).rows;
    const UPDATE = `update tenants set tenant_name = 'Acme' where tenant_slug = 'acme'`;

    it('are committed with it, and not written again', async () => {
      const trail = open();
      const { end } = await change(trail, UPDATE);
      const expected = [
        {
          outcome: 'succeeded',
          meta: { slug: 'acme', a: 1 },
          isOfChange: true,
        },
      ];
      await expect(stored()).resolves.toEqual(expected);
      await end({ outcome: 'succeeded', meta: { a: 1 } });
      await trail.stop();
      await expect(stored()).resolves.toEqual(expected);
    });

    it('are written once, however long the change takes', async () => {
      const trail = open();
      const { storeWith, end } = await trail.begin(event());
      storeWith(async () => ({}));
      // The queue has nothing left to write.
      await trail.stop();
      await expect(stored()).resolves.toEqual([]);
      await end({ outcome: 'succeeded' });
      await expect(stored()).resolves.toMatchObject([{ outcome: 'succeeded' }]);
    });

    it('have what the end tells otherwise', async () => {
      const trail = open();
      const { end } = await change(trail, UPDATE);
      await end({ outcome: 'failed', error: new Error('later') });
      await expect(stored()).resolves.toMatchObject([{ outcome: 'failed' }]);
    });

    it('are not stored by a transaction that reads, or that fails', async () => {
      const trail = open();
      const { end } = await change(trail, 'select from tenants');
      await expect(stored()).resolves.toEqual([]);
      await end({ outcome: 'succeeded' });
      await expect(
        change(trail, `${UPDATE} returning 1 / 0`),
      ).rejects.toThrow();
      await trail.stop();
      const outcomes = (await stored()).map(({ outcome }) => outcome);
      expect(outcomes).toEqual(['succeeded']);
    });

    it('call none failed that was made although its answer was lost, wherever that is', async () => {
      const proxy = await WireProxy.start(database.appConnection);
      try {
        const pool = database.createPool({
          connection: proxy.connection,
          limits: { max: 1 },
        });
        const trail = open();
        const found = new Set<string>();
        for (let message = 1, isCut = true; isCut; message += 1) {
          // A connection that is there.
          await pool.query(knex => knex('tenants'));
          await database.client.query('delete from tenant_audit');
          const begun = await trail.begin(event());
          proxy.cutAt({ side: 'backend', message, when: 'before' });
          const name = `renamed-${message}`;
          const [{ status, reason }] = (await Promise.allSettled([
            run(
              begun,
              `update tenants set tenant_name = '${name}' where tenant_slug = 'acme'`,
              { pool },
            ),
          ])) as PromiseRejectedResult[];
          isCut = !proxy.armed;
          proxy.cutAt(undefined);
          await begun.end(
            reason
              ? { outcome: 'failed', error: reason }
              : { outcome: 'succeeded' },
          );
          await proxy.settled();
          const { rows } = await database.client.query(
            `select coalesce(a.outcome, 'unknown') as outcome, t.tenant_name = $1 as made
               from tenant_audit a join tenants t using (tenant_id)`,
            [name],
          );
          expect(rows).toHaveLength(1);
          found.add(
            `${status}, ${rows[0].made ? 'made' : 'not made'}: ${
              rows[0].outcome
            }`,
          );
        }
        expect(found).toContain('rejected, made: succeeded');
        expect(found).not.toContain('rejected, made: failed');
        expect(found).toContain('rejected, not made: failed');
        expect(found).not.toContain('rejected, not made: succeeded');
      } finally {
        await proxy.close();
      }
    });

    it('refuse it where they can not be stored', async () => {
      await database.client.query(
        `alter table tenant_audit add constraint refused check (event <> 'update-tenant')`,
      );
      try {
        await expect(
          change(open(), `update tenants set tenant_name = 'Refused'`),
        ).rejects.toThrow();
      } finally {
        await database.client.query(
          'alter table tenant_audit drop constraint refused',
        );
      }
      const { rows } = await database.client.query(
        `select from tenants where tenant_name = 'Refused'`,
      );
      expect(rows).toEqual([]);
    });
  });

  it('wait while nothing can be written, and lose nothing', async () => {
    const trail = open();
    const { client } = database;
    await client.query('begin; lock table tenant_audit in exclusive mode');
    let isAnswered = false;
    // More than the queue holds beside a batch: the last ones wait for room.
    const begun = Array.from({ length: 11_000 }, () => trail.begin(event()));
    const ends = await Promise.all(begun.slice(0, 400));
    const done = Promise.all(
      ends.map(({ end }) => end({ outcome: 'succeeded' })),
    ).then(() => {
      isAnswered = true;
    });
    const { rows } = await client.query(
      'select count(*)::int from tenant_audit',
    );
    expect([rows[0].count, isAnswered]).toEqual([0, false]);
    await client.query('commit');
    await Promise.all([done, ...begun]);
    await trail.stop();
    const counted = await client.query(
      `select count(*)::int as all, count(outcome)::int as ended from tenant_audit`,
    );
    expect(counted.rows).toEqual([{ all: 11_000, ended: 400 }]);
  });

  it('are written again after a lock timeout, which the database may have for its users', async () => {
    const { client, appConnection } = database;
    const pool = database.createPool({
      connection: { ...appConnection, options: '-c lock_timeout=50' },
    });
    const logger = mockLogger();
    const trail = new PostgresTenantAuditTrail({
      config: { keepDays: 90, minSeverity: 'medium' },
      database: new PooledTenantDatabase(pool),
      pool,
      logger,
    });
    // As a purge does.
    await client.query(
      `begin; select from tenants where tenant_slug = 'acme' for update`,
    );
    const recorded = record(trail);
    try {
      await waitUntil(
        'the event to be refused',
        () =>
          logger.warn.mock.calls.length + logger.error.mock.calls.length > 0,
      );
    } finally {
      await client.query('commit');
    }
    await recorded;
    await trail.stop();
    const { items } = await trail.list('acme');
    expect(items).toMatchObject([{ outcome: 'succeeded' }]);
  });

  it('are kept for so many days', async () => {
    const trail = open({ keepDays: 30 });
    await record(trail, { event: 'old' });
    await database.client.query(
      `update tenant_audit set at = now() - interval '31 days'`,
    );
    await record(trail, { event: 'new' });
    await expect(trail.deleteOld()).resolves.toBe(1);
    const { items } = await trail.list('acme');
    expect(items.map(each => each.event)).toEqual(['new']);
  });

  it('are sent to the webhook, again until it takes them, and once', async () => {
    const bodies: string[] = [];
    const signatures: unknown[] = [];
    // Of both events together, and of each alone.
    const statuses = [500, 500, 500, 302, 302, 302];
    const server = await new TestServer(async (req, res) => {
      const chunks = await req.toArray();
      bodies.push(Buffer.concat(chunks).toString());
      signatures.push(req.headers['x-tenancy-signature']);
      const status = statuses.shift() ?? 204;
      res.writeHead(status, { location: '/elsewhere' }).end();
    }).listen();
    try {
      const trail = open({
        webhook: { url: `${server.url}/`, secret: 's' },
      });
      await record(trail);
      await record(trail, { tenantSlug: 'globex' });
      await expect(trail.send()).rejects.toThrow('answered with status 500');
      await expect(trail.send()).rejects.toThrow('answered with status 302');
      await trail.send();
      await trail.send();
      expect(bodies).toHaveLength(7);
      const sent = bodies[6]
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line));
      expect(sent.map(each => [each.tenant_slug, each.outcome])).toEqual([
        ['acme', 'succeeded'],
        ['globex', 'succeeded'],
      ]);
      expect(signatures[6]).toBe(
        `sha256=${createHmac('sha256', 's').update(bodies[6]).digest('hex')}`,
      );
    } finally {
      await server.stop();
    }
  });

  it('are sent to a webhook behind a proxy that takes no more than nginx does by default, whatever one it refuses', async () => {
    let lines = 0;
    const server = await new TestServer(async (req, res) => {
      const body = Buffer.concat(await req.toArray());
      const isTaken = body.length <= 1024 * 1024 && !body.includes('odd one');
      lines += isTaken ? body.toString().split('\n').length - 1 : 0;
      res.writeHead(isTaken ? 204 : 413).end();
    }).listen();
    try {
      await database.client.query(
        `insert into tenant_audit (tenant_id, event_id, at, plugin, event, severity, outcome, meta, sent)
         select tenant_id, gen_random_uuid(), now(), 'a', 'b', 'medium', 'succeeded',
                jsonb_build_object('text', repeat('x', 7900)), false
           from tenants, generate_series(1, 200) where tenant_slug = 'acme'`,
      );
      const trail = open({ webhook: { url: `${server.url}/` } });
      await record(trail, { event: 'odd one' });
      await database.client.query(
        `update tenant_audit set at = now() - interval '1 hour' where event = 'odd one'`,
      );
      await expect(trail.send()).rejects.toThrow('status 413 to 1 events');
      expect(lines).toBe(200);
      await record(trail);
      await expect(trail.send()).rejects.toThrow('status 413 to 1 events');
      expect(lines).toBe(201);

      // Behind many that it takes, and before others: those of the first attempt end with them.
      await database.client.query(
        `insert into tenant_audit (tenant_id, event_id, at, plugin, event, severity, outcome, meta, sent)
         select tenant_id, gen_random_uuid(), now() - n * interval '1 minute', 'a',
                case when n between 11 and 20 then 'odd one' else 'b' end, 'medium', 'succeeded', '{}', false
           from tenants, generate_series(1, 60) n where tenant_slug = 'acme'`,
      );
      await expect(trail.send()).rejects.toThrow('answered with status 413');
      await expect(trail.send()).rejects.toThrow('status 413 to 11 events');
      expect(lines).toBe(251);
      await record(trail);
      await expect(trail.send()).rejects.toThrow('status 413 to 11 events');
      expect(lines).toBe(252);
    } finally {
      await server.stop();
    }
  });

  it('are sent behind many of another tenant that the webhook refuses, however fast those come and whichever process has tried them', async () => {
    const taken: string[] = [];
    const server = await new TestServer(async (req, res) => {
      const body = Buffer.concat(await req.toArray()).toString();
      const isTaken = !body.includes('odd one');
      if (isTaken) {
        taken.push(body);
      }
      res.writeHead(isTaken ? 204 : 403).end();
    }).listen();
    try {
      const addOddOnes = (count: number) =>
        database.client.query(
          `insert into tenant_audit (tenant_id, event_id, at, plugin, event, severity, outcome, meta, sent)
           select tenant_id, gen_random_uuid(), now() - interval '1 hour', 'a', 'odd one', 'medium',
                  'succeeded', '{}', false
             from tenants, generate_series(1, $1) where tenant_slug = 'acme'`,
          [count],
        );
      const openOne = () => open({ webhook: { url: `${server.url}/` } });
      await addOddOnes(50);
      await record(openOne(), { tenantSlug: 'globex' });
      // Each tries three others alone.
      await expect(openOne().send()).rejects.toThrow('status 403');
      expect(taken).toEqual([]);
      await addOddOnes(4);
      await expect(openOne().send()).rejects.toThrow('status 403 to 6 events');
      expect(taken).toEqual([expect.stringContaining('"globex"')]);
    } finally {
      await server.stop();
    }
  });
});
