import {
  eventually,
  testedVersions,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import { randomUUID } from 'node:crypto';
import { mockLogger } from '../__testUtils__/serviceMocks';
import { WireProxy } from '../database/__testUtils__/WireProxy';
import { TenancyPool } from '../pool/TenancyPool';
import { type Backend, Backends } from './__testUtils__/openBackend';
import { ReplicatedServers, SCHEMA } from './__testUtils__/ReplicatedServers';
import { type LogPosition, preconditionOf, selectPrimary } from './statements';

const TENANT = randomUUID();
const USED = 'Catalogs are read from the read replica';
const notUsed = (reason: string) =>
  expect.stringMatching(
    `^Catalogs are read from the primary, and not from the read replica: .*${reason}`,
  );

/** It takes its time, but on a replica only. */
const SLOW = `select inet_server_port() as port,
                     case when pg_is_in_recovery() then pg_sleep(60) end
                from (select count(*) from public.sample) counted`;

const SLEEPING = `select pid from pg_stat_activity
                   where wait_event = 'PgSleep' and usename = 'portal_app'`;

// Nothing here depends on the tables of tenants.
describe.each(testedVersions({ versions: 'newest' }))(
  'A read replica on PostgreSQL %s that is lost',
  version => {
    let servers: ReplicatedServers;
    const backends = new Backends(() => ({ servers, tenant: TENANT }));

    beforeAll(async () => {
      servers = await ReplicatedServers.start(version, { migrated: false });
      await servers.onPrimary.query(
        'create table public.sample (); grant select on public.sample to public',
      );
    });

    afterEach(() => backends.close());

    afterAll(() => servers?.stop());

    /** A read that the replica is at, and will be for a long time. */
    async function readSlowly({ read }: Backend) {
      const answer = read<{ port: number }>(SLOW);
      answer.catch(() => undefined);
      await eventually(async () =>
        expect(await servers.onReplica(SLEEPING)).toHaveLength(1),
      );
      return { answer };
    }
    const endSlowReads = () =>
      servers.onReplica(
        `select pg_terminate_backend(pid) from (${SLEEPING}) asleep`,
      );
    const byPrimary = () => [
      expect.objectContaining({ port: servers.primary.port }),
    ];

    it('while it is read, and comes back: nobody sees an error, and each is told once', async () => {
      const backend = await backends.openInUse();
      let over = false;
      const readers = Array.from({ length: 5 }, async () => {
        while (!over) {
          await backend.answeredBy();
        }
      });
      await servers.stopReplica();
      await backend.isReadFrom('primary');
      await eventually(() => expect(backend.told()).toHaveLength(2));
      await servers.startReplica();
      await backend.isReadFrom('replica');
      over = true;
      await Promise.all(readers);
      expect(backend.told()).toEqual([USED, notUsed('connect'), USED]);
    });

    it('at the start is nothing to wait for, and is used once it is there', async () => {
      await servers.stopReplica();
      const backend = await backends.open();
      await expect(backend.answeredBy()).resolves.toBe('primary');
      await eventually(() =>
        expect(backend.told()).toEqual([notUsed('connect')]),
      );
      await servers.startReplica();
      await backend.isReadFrom('replica');
    });

    it('by falling silent has its reads answered by the primary', async () => {
      const proxy = await WireProxy.start(servers.replica);
      const backend = await backends.open({ replica: proxy.connection });
      await backend.isReadFrom('replica');
      const { answer } = await readSlowly(backend);
      proxy.freeze();
      await expect(answer).resolves.toEqual(byPrimary());
      await expect(backend.answeredBy()).resolves.toBe('primary');
      proxy.thaw();
      await backend.isReadFrom('replica');
      await endSlowReads();
      await backend.close();
      await proxy.close();
    });

    it('while its connections are checked does not keep the process from ending', async () => {
      const proxy = await WireProxy.start(servers.replica);
      let isChecked = false;
      const backend = await backends.open({
        replica: proxy.connection,
        check: async pool => {
          await pool.query(knex => knex.raw('select'));
          proxy.freeze();
          isChecked = true;
          await pool.query(knex => knex.raw('select'));
        },
      });
      try {
        await waitUntil('the check', () => isChecked);
        await expect(
          withDeadline('the replica to be closed', backend.replica.close(), {
            withinMs: 30_000,
          }),
        ).resolves.toBeUndefined();
      } finally {
        await proxy.close();
      }
    });

    it('for one read, whose connection ends, is used for the next', async () => {
      const backend = await backends.openInUse();
      const { answer } = await readSlowly(backend);
      await endSlowReads();
      await expect(answer).resolves.toEqual(byPrimary());
      await backend.isReadFrom('replica');
    });

    it('for one read, which it stops for what it has to replay, goes on with the others', async () => {
      await servers.onReplica(
        'alter system set max_standby_streaming_delay = 0',
      );
      await servers.onReplica('select pg_reload_conf()');
      const backend = await backends.openInUse();
      const { answer } = await readSlowly(backend);
      const { onPrimary } = servers;
      await onPrimary.query('begin; lock table public.sample; commit');
      await expect(answer).resolves.toEqual(byPrimary());
      await expect(backend.answeredBy()).resolves.toBe('replica');
      expect(backend.replica.counts.failed).toBe(1);
      expect(backend.told()).toEqual([USED]);
    });

    it('because it is the primary itself is not used', async () => {
      const backend = await backends.open({ replica: servers.primary });
      await eventually(() =>
        expect(backend.told()).toEqual([notUsed('it is not a replica')]),
      );
      await expect(backend.answeredBy()).resolves.toBe('primary');
      expect(backend.replica.counts.replica).toBe(0);
    });

    it('because it is a replica of another server is not used', async () => {
      const others = await ReplicatedServers.start(version, {
        migrated: false,
      });
      try {
        const backend = await backends.open({ replica: others.replica });
        await eventually(() =>
          expect(backend.told().at(-1)).toMatch(
            'it is a replica of another server than the primary',
          ),
        );
        await expect(backend.answeredBy()).resolves.toBe('primary');
        expect(backend.replica.counts.replica).toBe(0);
        await backend.close();
      } finally {
        await others.stop();
      }
    });

    describe('is found out by the read itself,', () => {
      let position: LogPosition;
      let onReplica: TenancyPool;
      let onPrimary: TenancyPool;

      beforeAll(async () => {
        [onReplica, onPrimary] = [servers.replica, servers.primary].map(
          connection =>
            TenancyPool.create({
              connection,
              schema: SCHEMA,
              pool: {
                max: 1,
                idleTimeoutMs: 1_000,
                connectionTimeoutMs: 120_000,
              },
              logger: mockLogger(),
            }),
        );
        [position] = await onPrimary.query<LogPosition>(selectPrimary);
      });

      afterAll(() => Promise.all([onReplica?.close(), onPrimary?.close()]));

      const ask = (pool: TenancyPool, required: LogPosition) =>
        pool.query(knex => knex.raw('select 1 as answer'), {
          precondition: preconditionOf(required),
        });

      it('which is answered by a replica of the primary that is far enough', async () => {
        await eventually(async () =>
          expect(await ask(onReplica, position)).toEqual([{ answer: 1 }]),
        );
      });

      it.each<[string, Partial<LogPosition>]>([
        ['is not as far', { lsn: '10000000/0' }],
        ['is of another server', { systemId: '1' }],
        ['has another database', { database: 'other' }],
        ['is on another timeline', { timeline: 7 }],
      ])('and not by one that %s', async (_, difference) => {
        await expect(
          ask(onReplica, { ...position, ...difference }),
        ).rejects.toThrow('22012');
      });

      it('and not by the primary', async () => {
        await expect(ask(onPrimary, position)).rejects.toThrow('22012');
      });
    });

    // The last one: it is not a replica any more.
    it('because it was promoted is not read even once', async () => {
      const backend = await backends.openInUse();
      await servers.onReplica('select pg_promote()');
      await expect(backend.answeredBy()).resolves.toBe('primary');
      await eventually(() =>
        expect(backend.told()).toEqual([USED, notUsed('or was promoted')]),
      );
      await expect(backend.answeredBy()).resolves.toBe('primary');
    });
  },
);
