import { eventually, testedVersions } from '@internal/postgres/testUtils';
import { mockAuditor, mockLogger } from '../__testUtils__/serviceMocks';
import { AuditedAdminDatabase } from '../database/AuditedAdminDatabase';
import { TenancyPool } from '../pool/TenancyPool';
import { type Backend, Backends } from './__testUtils__/openBackend';
import { ReplicatedServers, SCHEMA } from './__testUtils__/ReplicatedServers';
import { WATCH } from './ReplicaWatch';
import { endOfLastRecord, timelineOf } from './statements';

describe.each(testedVersions())('A read replica on PostgreSQL %s', version => {
  let servers: ReplicatedServers;
  let tenant: string;
  let other: string;
  const backends = new Backends(() => ({ servers, tenant }));

  beforeAll(async () => {
    servers = await ReplicatedServers.start(version);
    tenant = await servers.createTenant();
    other = await servers.createTenant();
  });

  afterEach(() => backends.close());

  afterAll(() => servers?.stop());

  /** Waits until somebody has asked the primary anew how far it is. */
  async function primaryWasAsked(): Promise<void> {
    const asked = async (since: string) =>
      (
        await servers.onPrimary.query<{ now: string; asked: number }>(
          `select clock_timestamp()::text as now,
                    (select count(*)::int from pg_stat_activity
                      where application_name = $1 and state = 'idle'
                        and query_start > $2::timestamptz) as asked`,
          [WATCH, since],
        )
      ).rows[0];
    const { now } = await asked('infinity');
    await eventually(async () =>
      expect(await asked(now)).toMatchObject({ asked: 1 }),
    );
  }

  describe('keeps tenants apart', () => {
    it('where a query forgets its predicate', async () => {
      const backend = await backends.openInUse();
      await backend.write('mine');
      await backend.write('theirs', other);
      await backend.isReadFrom('replica');
      await backend.isReadFrom('replica', other);
      const { replica: before } = backend.replica.counts;
      await expect(backend.names()).resolves.toEqual(['mine']);
      await expect(backend.names(other)).resolves.toEqual(['theirs']);
      expect(backend.replica.counts.replica).toBe(before + 2);
    });

    it('on a single connection that they use in turn, whatever they leave there', async () => {
      const limits = {
        max: 1,
        idleTimeoutMs: 30_000,
        connectionTimeoutMs: 120_000,
      };
      const backend = await backends.openInUse({ pool: limits });
      const { replica: before } = backend.replica.counts;
      for (let round = 0; round < 3; round += 1) {
        await backend
          .read(`select set_config('app.tenant_id', '${other}', false)`)
          .catch(() => undefined);
        await backend.read('select 1 / 0').catch(() => undefined);
        await backend.isReadFrom('replica');
        expect(await backend.names()).toEqual(['mine']);
        expect(await backend.names(other)).toEqual(['theirs']);
      }
      expect(backend.replica.counts.replica).toBeGreaterThan(before + 6);
    });

    it('or is not used, where its connections do not', async () => {
      const backend = await backends.open({
        check: () => Promise.reject(new Error('portal_app is a superuser')),
      });
      await eventually(() =>
        expect(backend.told().join()).toContain('portal_app is a superuser'),
      );
      await expect(backend.answeredBy()).resolves.toBe('primary');
      expect(backend.replica.counts.replica).toBe(0);
    });
  });

  describe('shows callers what they have written', () => {
    it('while others go on reading what it has', async () => {
      const backend = await backends.openInUse();
      await backend.isReadFrom('replica', other);
      await servers.whilePaused(async () => {
        await backend.write('written');
        await expect(backend.names()).resolves.toContain('written');
        await expect(backend.answeredBy()).resolves.toBe('primary');
        await expect(backend.answeredBy(other)).resolves.toBe('replica');
        await primaryWasAsked();
        await expect(backend.names()).resolves.toContain('written');
        await expect(backend.answeredBy()).resolves.toBe('primary');
      });
      await backend.isReadFrom('replica');
      await expect(backend.names()).resolves.toContain('written');
    });

    it('from the moment at which they begin to write', async () => {
      const backend = await backends.openInUse();
      await backend.database.transaction(tenant, async () => {
        // What others write meanwhile is asked for and replayed, and ends nothing.
        await backend.write('meanwhile', other);
        await backend.isReadFrom('replica', other);
        await expect(backend.answeredBy()).resolves.toBe('primary');
      });
      await backend.isReadFrom('replica');
    });

    it.each([
      [
        'a query that says nothing of how old its answer may be',
        (backend: Backend) =>
          backend.database.query(tenant, ({ knex }) =>
            knex.raw(`update entities set hash = hash || 'x'`),
          ),
      ],
      [
        'a query by the id in upper case',
        (backend: Backend) =>
          backend.database.query(tenant.toUpperCase(), ({ knex }) =>
            knex.raw(`update entities set hash = hash || 'x'`),
          ),
      ],
      [
        'a transaction that has failed, for it may have been committed',
        (backend: Backend) =>
          backend.database
            .transaction(tenant, () => Promise.reject(new Error('no')))
            .catch(() => undefined),
      ],
    ])('after %s', async (_, write) => {
      const backend = await backends.openInUse();
      await servers.whilePaused(async () => {
        await write(backend);
        await expect(backend.answeredBy()).resolves.toBe('primary');
      });
      await backend.isReadFrom('replica');
    });

    it('and what the administrator has written, to any tenant', async () => {
      const backend = await backends.openInUse();
      const pool = TenancyPool.create({
        connection: servers.primary,
        schema: SCHEMA,
        pool: { max: 1, idleTimeoutMs: 1_000, connectionTimeoutMs: 120_000 },
        logger: mockLogger(),
      });
      const admin = new AuditedAdminDatabase({
        pool,
        auditor: mockAuditor(),
        replica: backend.replica,
      });
      try {
        await servers.whilePaused(async () => {
          await admin.run('test', ({ knex, query }) =>
            query(knex('entities').update({ hash: 'changed' })),
          );
          await expect(backend.answeredBy()).resolves.toBe('primary');
          await expect(backend.answeredBy(other)).resolves.toBe('primary');
        });
        await backend.isReadFrom('replica', other);
      } finally {
        await pool.close();
      }
    });
  });

  it('and what a query has written that was said to read, on the primary', async () => {
    const backend = await backends.openInUse();
    await servers.whilePaused(async () => {
      await backend.read(`update entities set hash = hash || 'y'`);
      await backend.isReadFrom('replica', other);
      await expect(backend.answeredBy()).resolves.toBe('primary');
    });
    await backend.isReadFrom('replica');
  });

  it('and not what a query has only read, on the primary', async () => {
    const backend = await backends.openInUse();
    await servers.whilePaused(async () => {
      // A division by zero is what a replica fails with that is not far enough.
      await expect(backend.read('select 1 / 0')).rejects.toThrow('22012');
      await backend.isReadFrom('replica');
    });
  });

  describe('is read only as far as it may be behind', () => {
    it('and again once it is not', async () => {
      const backend = await backends.openInUse({ maxStalenessMs: 1_000 });
      await servers.whilePaused(async () => {
        await servers.onPrimary.query('create table progress ()');
        await backend.isReadFrom('primary');
        await eventually(() =>
          expect(backend.told().at(-1)).toMatch(
            'not from the read replica: it is more than 1000 ms behind',
          ),
        );
      });
      await servers.onPrimary.query('drop table progress');
      await backend.isReadFrom('replica');
    });

    it('and rests with a primary that has nothing to write', async () => {
      // It ends with a page of the log, and the next has a header already.
      await servers.onPrimary.query('select pg_switch_wal()');
      const backend = await backends.openInUse();
      await expect(backend.answeredBy()).resolves.toBe('replica');
    });
  });

  describe('is asked for the end of the last record of the log', () => {
    const asked = async (expression: string, value: string) => {
      const { rows } = await servers.onPrimary.query<{ answer: string }>(
        `select (${expression})::text as answer`,
        [value],
      );
      return rows[0].answer;
    };

    it.each([
      ['0/2000028', '0/2000000'],
      ['0/2002018', '0/2002000'],
    ])('which is before the header of a page, at %s', async (lsn, end) => {
      expect(await asked(endOfLastRecord('$1::pg_lsn'), lsn)).toBe(end);
    });

    it.each(['0/2000018', '0/2002028', '0/2000030', '16/B374D848', '1/0'])(
      'which is right there, at %s',
      async lsn => {
        expect(await asked(endOfLastRecord('$1::pg_lsn'), lsn)).toBe(lsn);
      },
    );

    it('on the timeline that its segment is named after', async () => {
      const segment = '0000000A0000000100000002';
      expect(await asked(timelineOf('$1::text'), segment)).toBe('10');
    });
  });
});
