import { mockServices } from '@backstage/backend-test-utils';
import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { Client } from 'pg';
import { EngineDatabase } from '../tables/__testUtils__/EngineDatabase';
import { TablesSession } from '../tables/TablesSession';
import {
  applicationNameOf,
  endSessions,
  freeTasks,
  LeaseStore,
} from './LeaseStore';
import { ProcessLeases } from './ProcessLeases';
import { WakeTimes } from './WakeTimes';

const databases = createTestDatabases({ versions: 'newest' });

const LEASE_MS = 3_000;
const MINUTE_MS = 60_000;

describe.each(databases.eachSupportedId())('leases on %s', id => {
  let database: EngineDatabase;
  let tenants: string[];
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    database = await EngineDatabase.create(databases, id);
    // What a server in FIPS mode refuses to run is not there.
    await database.query(
      'alter function pg_catalog.md5(text) rename to no_md5',
    );
  });

  beforeEach(async () => {
    await database.query(
      `truncate tenancy.engine_processes, tenancy.engine_leases`,
    );
    await database.query(
      `delete from tenancy.tenants where tenant_slug <> 'default'`,
    );
    tenants = [];
  });

  afterEach(async () => {
    await Promise.all(closing.splice(0).map(close => close()));
    jest.restoreAllMocks();
  });

  async function createTenants(count: number): Promise<void> {
    const rows = await database.query<{ id: string }>(
      `insert into tenancy.tenants (tenant_slug, tenant_name)
       select 't-' || n, 'T' from generate_series(1, $1) n returning tenant_id as id`,
      [count],
    );
    tenants = rows.map(row => row.id);
  }

  function createStore(
    processId = randomUUID() as string,
    leaseMs = MINUTE_MS,
    logger = mockServices.logger.mock(),
  ): LeaseStore {
    return new LeaseStore({
      connection: database.login,
      schema: 'tenancy',
      processId,
      leaseMs,
      logger,
      intervalMsOf: async () => 30 * MINUTE_MS,
    });
  }

  /** A process, as the rows show it. */
  async function joined() {
    const processId = randomUUID();
    const logger = mockServices.logger.mock();
    const store = createStore(processId, MINUTE_MS, logger);
    closing.push(() => store.close());
    await store.join();
    // Again, as after an answer that was lost.
    await store.join();
    return { logger, store, processId };
  }

  const expire = (processId: string) =>
    database.query(
      `update tenancy.engine_processes set expires_at = now() - interval '1 ms' where process_id = $1`,
      [processId],
    );

  const rowsOf = (table: string) =>
    database.query<{ process_id: string; tenant_id: string }>(
      `select * from tenancy.${table}`,
    );

  const fence = (lost: { applicationName: string }) =>
    endSessions(database.login, lost);

  async function connect(options: {
    applicationName: string;
    databaseName?: string;
  }) {
    const client = new Client({
      ...database.login,
      ...(options.databaseName && { database: options.databaseName }),
      application_name: options.applicationName,
    });
    const ended = new Promise<void>(resolve => {
      client.once('end', resolve);
    });
    client.on('error', () => undefined);
    closing.push(() => client.end());
    await client.connect();
    return { client, ended };
  }

  describe('in the database', () => {
    it('are got by one of many processes that claim them at once, and all of them', async () => {
      await createTenants(40);
      const processes = await Promise.all(Array.from({ length: 8 }, joined));
      const claims = await Promise.all(
        processes.flatMap(({ store }) => [
          store.claim(tenants, 30),
          store.claim(tenants, 30),
        ]),
      );
      expect(claims.flat().sort()).toEqual([...tenants].sort());
    });

    it('are got where no other process has them, however few these are', async () => {
      await createTenants(20);
      const [one, other] = [await joined(), await joined()];
      await one.store.claim(tenants.slice(1), 20);
      await expect(other.store.claim(tenants, 1)).resolves.toEqual([
        tenants[0],
      ]);
    });

    it('are taken over when the process has expired by the clock of the database, whatever the time is here', async () => {
      await createTenants(2);
      const [one, other] = [await joined(), await joined()];
      await one.store.claim(tenants, 2);
      jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 60 * MINUTE_MS);
      await expect(other.store.takeOver([fence])).resolves.toBeUndefined();

      await expire(one.processId);
      await expect(other.store.look()).resolves.toMatchObject({
        processes: 1,
        hasExpired: true,
      });
      const lost = await other.store.takeOver([fence]);
      expect([...lost!.tenantIds].sort()).toEqual([...tenants].sort());
      await expect(rowsOf('engine_leases')).resolves.toEqual([]);
      // Although these have no tables.
      expect(other.logger.warn).not.toHaveBeenCalled();
    });

    it('stay with a process that has expired, and renews its row before others come', async () => {
      await createTenants(1);
      const [one, other] = [await joined(), await joined()];
      await one.store.claim(tenants, 1);
      await expire(one.processId);
      await expect(one.store.renew()).resolves.toBe(true);
      await expect(other.store.takeOver([fence])).resolves.toBeUndefined();
      await other.store.release(tenants);
      await expect(one.store.readOwn()).resolves.toEqual(tenants);
    });

    it('are taken over by one process, and the lost one finds itself without', async () => {
      await createTenants(2);
      const [one, other, third] = [
        await joined(),
        await joined(),
        await joined(),
      ];
      await one.store.claim(tenants, 2);
      await expire(one.processId);
      // The others wait for none that takes them over, which may be paused meanwhile.
      const meanwhile = async () =>
        expect(await third.store.takeOver([fence])).toBeUndefined();
      const taken = await other.store.takeOver([fence, meanwhile]);
      expect(taken).toBeDefined();
      // Its sessions were ended.
      await waitUntil('the lost process to connect again', async () =>
        one.store.renew().then(
          isKnown => !isKnown,
          () => false,
        ),
      );
      await expect(one.store.claim(tenants, 2)).rejects.toMatchObject({
        code: '23503',
      });
    });

    it('are not freed before all fences have come to their end', async () => {
      await createTenants(1);
      const [one, other] = [await joined(), await joined()];
      await one.store.claim(tenants, 1);
      await expire(one.processId);
      await expect(
        other.store.takeOver([
          fence,
          async () => {
            await expect(rowsOf('engine_leases')).resolves.toHaveLength(1);
            throw new Error('The server does not answer');
          },
        ]),
      ).rejects.toThrow('The server does not answer');
      await expect(rowsOf('engine_leases')).resolves.toHaveLength(1);
    });
  });

  describe('of a lost process', () => {
    it.each(['idle', 'in a transaction', 'at work'])(
      'end with its sessions: one that is %s',
      async state => {
        await createTenants(1);
        const [one, other] = [await joined(), await joined()];
        await one.store.claim(tenants, 1);
        await database.query(
          `create table if not exists public.written (by text);
           truncate public.written; grant insert on public.written to public`,
        );
        const { client, ended } = await connect({
          applicationName: applicationNameOf(one.processId),
        });
        if (state !== 'idle') {
          await client.query('begin');
          await client.query(`insert into public.written values ('lost')`);
        }
        const atWork =
          state === 'at work'
            ? client.query('select pg_sleep(20)').catch(error => error)
            : undefined;
        const bystander = await connect({
          applicationName: applicationNameOf(other.processId),
        });
        await expire(one.processId);
        await other.store.takeOver([fence]);
        await withDeadline('the end of the session', ended);
        await atWork;
        await expect(client.query('commit')).rejects.toThrow();
        await expect(
          database.query('select from public.written'),
        ).resolves.toEqual([]);
        await expect(bystander.client.query('select 1')).resolves.toBeDefined();
      },
    );

    it('end with its sessions in other databases of the server', async () => {
      const one = await joined();
      const { ended } = await connect({
        applicationName: applicationNameOf(one.processId),
        databaseName: 'postgres',
      });
      const looks = jest.spyOn(TablesSession.prototype, 'query');
      await fence({ applicationName: applicationNameOf(one.processId) });
      // Not before it has seen that there is none.
      expect(await looks.mock.results.at(-1)!.value).toEqual([]);
      await expect(
        withDeadline('the end of the session', ended),
      ).resolves.toBeUndefined();
    });

    it('end also in the midst of a takeover, whose locks would last', async () => {
      const [lost, one, other] = [
        await joined(),
        await joined(),
        await joined(),
      ];
      await expire(lost.processId);
      let goOn = () => undefined as void;
      let taking: Promise<unknown> | undefined;
      const begun = new Promise<void>(begin => {
        const paused = new Promise<void>(resolve => {
          goOn = resolve;
        });
        const pausing = () => {
          begin();
          return paused;
        };
        taking = one.store.takeOver([pausing]).catch(error => error);
      });
      await withDeadline('the takeover', begun);
      await expire(one.processId);
      for (const { processId } of [one, lost]) {
        await expect(other.store.takeOver([fence])).resolves.toMatchObject({
          processId,
        });
      }
      goOn();
      expect(await taking).toBeInstanceOf(Error);
    });

    it('go to others also where the items of a tenant take too long to be made due', async () => {
      const [slow, other] = [await database.newTenant(), await joined()];
      await database.tables().provision(slow);
      const schema = engineSchemaOf(slow);
      await database.query(
        `insert into ${schema}.stitch_queue (entity_ref, stitch_ticket, next_stitch_at)
         values ('waits', 'x', now() + interval '1 minute');
         create function ${schema}.stall() returns trigger language plpgsql as
           $$ begin perform pg_sleep(600); return new; end $$;
         create trigger stall before update on ${schema}.stitch_queue
           for each row execute function ${schema}.stall()`,
      );
      await other.store.claim([slow], 1);
      await expire(other.processId);
      const store = createStore(undefined, LEASE_MS);
      closing.push(() => store.close());
      await expect(store.takeOver([fence])).resolves.toMatchObject({
        tenantIds: [slow],
      });
      await expect(rowsOf('engine_leases')).resolves.toEqual([]);
    });

    it('go to others at once also where the tables of a tenant are locked', async () => {
      const [locked, other] = [await database.newTenant(), await joined()];
      await database.tables().provision(locked);
      await other.store.claim([locked], 1);
      await expire(other.processId);
      const store = createStore(undefined, 60 * MINUTE_MS);
      closing.push(() => store.close());
      await database.use(async client => {
        await client.query(
          `begin; lock table ${engineSchemaOf(locked)}.refresh_state`,
        );
        await expect(
          withDeadline('the takeover', store.takeOver([fence])),
        ).resolves.toMatchObject({ tenantIds: [locked] });
      });
    });

    it('leave nothing that waits for the next interval', async () => {
      const tenantId = await database.newTenant();
      await database.tables().provision(tenantId);
      const schema = engineSchemaOf(tenantId);
      const [one, other] = [await joined(), await joined()];
      await one.store.claim([tenantId], 1);
      await database.query(
        `insert into ${schema}.refresh_state
           (entity_id, entity_ref, unprocessed_entity, errors, result_hash, next_update_at, last_discovery_at)
         select ref, ref, '{}', '', hash, now() + due::interval, now()
           from (values ('never-processed', '', '20 minutes'),
                        ('claimed', 'a', '31 minutes'),
                        ('done-before', 'b', '20 minutes'),
                        ('never-hashed', null, '20 minutes'),
                        ('overdue', '', '-1 hour')) item (ref, hash, due)`,
      );
      await database.query(
        `insert into ${schema}.stitch_queue (entity_ref, stitch_ticket, next_stitch_at)
         values ('overdue', 'x', now() - interval '1 hour'),
                ('waits', 'x', now() + interval '1 minute')`,
      );
      await database.query(
        `create table if not exists public.backstage_backend_tasks__tasks (
           id text primary key, current_run_ticket text, current_run_started_at timestamptz,
           current_run_expires_at timestamptz, last_run_ended_at timestamptz, last_run_error_json text);
         grant all on public.backstage_backend_tasks__tasks to public`,
      );
      await database.query(
        `insert into public.backstage_backend_tasks__tasks (id, current_run_ticket, current_run_started_at)
         values ('tenant:' || $1 || ':read', 'ticket', now()), ('tenant:other:read', 'ticket', now())`,
        [tenantId],
      );

      await expire(one.processId);
      await other.store.takeOver([
        fence,
        lost => freeTasks(database.login, 'public', lost),
        lost => freeTasks(database.login, 'without_tasks', lost),
      ]);

      await expect(
        database.query(
          `select entity_ref as ref, next_update_at < now() + interval '1 minute' as due,
                  next_update_at < now() - interval '1 minute' as overdue
             from ${schema}.refresh_state order by 1`,
        ),
      ).resolves.toEqual([
        { ref: 'claimed', due: true, overdue: false },
        { ref: 'done-before', due: false, overdue: false },
        { ref: 'never-hashed', due: true, overdue: false },
        { ref: 'never-processed', due: true, overdue: false },
        { ref: 'overdue', due: true, overdue: true },
      ]);
      await expect(
        database.query(
          `select next_stitch_at <= now() as due,
                  next_stitch_at < now() - interval '1 minute' as overdue
             from ${schema}.stitch_queue order by entity_ref`,
        ),
      ).resolves.toEqual([
        { due: true, overdue: true },
        { due: true, overdue: false },
      ]);
      await expect(
        database.query(
          `select id from public.backstage_backend_tasks__tasks where current_run_ticket is not null`,
        ),
      ).resolves.toEqual([{ id: 'tenant:other:read' }]);
    });

    it('say who may note that an engine sleeps, which a takeover leaves alone', async () => {
      await createTenants(2);
      const [slept, ran] = tenants;
      await database.tables().provision(slept);
      await database.tables().provision(ran);
      const [one, other] = [await joined(), await joined()];
      const wakesOf = ({ processId, store }: typeof one) =>
        new WakeTimes({
          query: (sql, values) => store.query(sql, values),
          processId,
          schema: 'tenancy',
          digest: 'release',
        });
      const [wakes, others] = [wakesOf(one), wakesOf(other)];
      await one.store.claim(tenants, 2);
      await database.query(
        `insert into tenancy.engine_status (tenant_id, state)
         select unnest($1::uuid[]), 'running'`,
        [tenants],
      );
      const hour = { config: 'null', ms: 60 * MINUTE_MS };
      await expect(others.sleep(slept, hour)).resolves.toBe(false);
      await expect(wakes.findToRun([slept])).resolves.toEqual([slept]);
      await expect(wakes.sleep(slept, hour)).resolves.toBe(true);
      await expect(wakes.findToRun(tenants)).resolves.toEqual([ran]);
      await others.awaken([slept]);
      await expect(wakes.findToRun([slept])).resolves.toEqual([]);
      await expect(wakes.findDue()).resolves.toEqual([]);
      await wakes.sleep(ran, { config: 'null', ms: -1 });
      await expect(wakes.findDue()).resolves.toEqual([ran]);
      await expect(others.findDue()).resolves.toEqual([]);
      await wakes.awaken([ran]);

      const schema = `"${engineSchemaOf(slept)}"`;
      await database.query(
        `insert into ${schema}.stitch_queue (entity_ref, stitch_ticket, next_stitch_at)
         values ('waits', 'x', now() + interval '1 minute')`,
      );
      await expire(one.processId);
      await other.store.takeOver([fence]);
      await expect(
        database.query(
          `select next_stitch_at <= now() as due from ${schema}.stitch_queue`,
        ),
      ).resolves.toEqual([{ due: false }]);
      await expect(wakes.sleep(ran, hour)).resolves.toBe(false);
      // As the purge of a deleted tenant does, which may be restored.
      await database.query(`drop schema ${schema} cascade`);
      await expect(wakes.findToRun([slept])).resolves.toEqual([slept]);
    });
  });

  describe('of processes', () => {
    /** All that run, to see that none holds what another holds. */
    const running = new Set<ProcessLeases>();

    const heldTwice: string[] = [];

    afterEach(() => {
      running.clear();
      // At any change in any of them.
      if (heldTwice.length > 0) {
        throw new Error(`Two processes held ${heldTwice.splice(0)} at a time`);
      }
    });

    async function start(
      options: {
        role?: 'all' | 'none';
        leaseMs?: number;
        stopMs?: number;
      } = {},
    ) {
      const { role = 'all', leaseMs = LEASE_MS, stopMs } = options;
      const logger = mockServices.logger.mock();
      const leases = new ProcessLeases({ role, leaseMs, stopMs });
      let connected: Promise<void> | undefined;
      let reconnect = () => undefined as void;
      const store = createStore(leases.processId, leaseMs);
      leases.addFence(fence);
      leases.onChange(() => {
        for (const tenantId of tenants) {
          const holders = [...running].filter(each => each.isHeld(tenantId));
          if (holders.length > 1) {
            heldTwice.push(tenantId);
          }
        }
      });
      running.add(leases);
      leases.start({
        logger,
        store: new Proxy(store, {
          get(target, key: keyof LeaseStore) {
            const value = target[key] as Function;
            return key === 'close'
              ? value.bind(target)
              : async (...args: unknown[]) => {
                  await connected;
                  return value.apply(target, args);
                };
          },
        }),
      });
      leases.addTenants(async () => tenants);
      let stopped: Promise<void> | undefined;
      const stop = () => {
        stopped ??= leases.stop();
        return stopped;
      };
      closing.push(async () => {
        reconnect();
        await stop();
      });
      const held = () => tenants.filter(each => leases.isHeld(each));
      return {
        leases,
        logger,
        held,
        stop,
        holds: (count: number) =>
          waitUntil(
            `a process to hold ${count} leases`,
            async () => held().length === count,
          ),
        cutOff: () => {
          connected = new Promise<void>(resolve => {
            reconnect = resolve;
          });
        },
        reconnect: () => reconnect(),
      };
    }

    it.each([
      ['goes on while the machine sleeps', Date],
      ['nobody can set', performance],
    ])(
      'are not held once their time is over by the clock that %s',
      async (_, clock) => {
        await createTenants(1);
        const { held, holds } = await start();
        await holds(1);
        // Before others may take them.
        const late = clock.now() + 0.95 * LEASE_MS;
        jest.spyOn(clock, 'now').mockReturnValue(late);
        expect(held()).toEqual([]);
      },
    );

    it('are held for their time since a renewal was sent, however late it is answered', async () => {
      await createTenants(1);
      const { join } = LeaseStore.prototype;
      jest
        .spyOn(LeaseStore.prototype, 'join')
        .mockImplementationOnce(async function late(this: LeaseStore) {
          await join.call(this);
          jest.spyOn(Date, 'now').mockReturnValue(Date.now() + LEASE_MS);
        });
      const one = await start();
      const heldThen = new Promise<string[]>(resolve => {
        jest
          .spyOn(LeaseStore.prototype, 'renew')
          .mockImplementationOnce(async () => {
            resolve(one.held());
            return true;
          });
      });
      expect(await withDeadline('the next renewal', heldThen)).toEqual([]);
    });

    it('are taken from no other one for a while after this one was without the database, as after a failover', async () => {
      await createTenants(1);
      await expire((await joined()).processId);
      jest
        .spyOn(LeaseStore.prototype, 'join')
        .mockRejectedValueOnce(new Error('No answer'));
      const takeOver = jest.spyOn(LeaseStore.prototype, 'takeOver');
      const one = await start({ leaseMs: MINUTE_MS });
      await one.holds(1);
      expect(takeOver).not.toHaveBeenCalled();
    });

    it('are not those that were read before all were lost', async () => {
      await createTenants(2);
      const one = await start();
      await one.holds(2);
      const hasLost = () => one.logger.warn.mock.calls.length > 0;
      const { readOwn } = LeaseStore.prototype;
      jest
        .spyOn(LeaseStore.prototype, 'readOwn')
        .mockImplementationOnce(async function late(this: LeaseStore) {
          const own = await readOwn.call(this);
          await database.query('delete from tenancy.engine_processes');
          await waitUntil('the loss', hasLost);
          return own;
        });
      const counts = new Set<number>();
      one.leases.onChange(() => counts.add(one.held().length));
      await database.query(
        'delete from tenancy.engine_leases where tenant_id = $1',
        [tenants[0]],
      );
      await waitUntil('the loss', hasLost);
      await one.holds(2);
      expect([...counts].sort()).toEqual([0, 2]);
    });

    it('follow the tenants that there are', async () => {
      await createTenants(2);
      const one = await start({ leaseMs: MINUTE_MS });
      await one.holds(2);
      const [first] = tenants;
      tenants = tenants.slice(1);
      one.leases.refresh();
      await waitUntil(
        'the lease to be given up',
        async () => !one.leases.isHeld(first),
      );
      tenants.push(first);
      one.leases.refresh();
      await expect(one.holds(2)).resolves.toBe(true);
    });

    it('go to one that joins, a few at a time, when their work has ended', async () => {
      await createTenants(4);
      const one = await start({ leaseMs: 9_000 });
      await one.holds(4);
      let ended = () => undefined as void;
      const releases: string[] = [];
      const atRelease = new Promise<void>(resolve => {
        one.leases.beforeRelease(async tenantId => {
          releases.push(tenantId);
          if (releases.length === 1) {
            resolve();
            await new Promise<void>(end => {
              ended = end;
            });
          }
        });
      });
      const other = await start({ leaseMs: 9_000 });
      await withDeadline('the first release', atRelease);
      // One at a time, of four.
      expect(releases).toHaveLength(1);
      expect(one.leases.isHeld(releases[0])).toBe(true);
      expect(other.held()).toEqual([]);
      ended();
      await other.holds(2);
      await expect(one.holds(2)).resolves.toBe(true);
    });

    it.each([
      ['when one stops', false],
      ['when one stops that gives one up', true],
    ])('expire where their work does not end %s', async (_, givesUp) => {
      await createTenants(2);
      const one = await start({ leaseMs: 9_000, stopMs: 100 });
      await one.holds(2);
      let releases = 0;
      const atRelease = new Promise<void>(resolve => {
        one.leases.beforeRelease(async () => {
          releases += 1;
          resolve();
          if (releases === 1) {
            await new Promise<void>(() => undefined);
          }
        });
      });
      if (givesUp) {
        await start({ leaseMs: 9_000 });
        await withDeadline('the release', atRelease);
      }
      await withDeadline('the end', one.stop());
      expect(one.logger.warn).toHaveBeenCalledWith(
        expect.stringMatching(/has not ended within 0.1 seconds/),
      );
      const rows = await rowsOf('engine_leases');
      expect(rows.map(({ process_id }) => process_id)).toEqual(
        Array(2).fill(one.leases.processId),
      );
    });

    it('that can not be given up are held again, so that their work goes on', async () => {
      await createTenants(2);
      const one = await start();
      await one.holds(2);
      const seen: number[] = [];
      one.leases.onChange(() => seen.push(one.held().length));
      const keep = one.leases.beforeRelease(async () => {
        keep();
        throw new Error('The reads under way can not be noted');
      });
      await start();
      await waitUntil('two changes', () => seen.length > 1);
      expect(seen.slice(0, 2)).toEqual([1, 2]);
    });

    it('are kept where they were lost and got again while they were given up', async () => {
      await createTenants(2);
      const one = await start();
      await one.holds(2);
      let end = () => undefined as void;
      const atRelease = new Promise<void>(resolve => {
        const forget = one.leases.beforeRelease(async () => {
          forget();
          resolve();
          await new Promise<void>(ended => {
            end = ended;
          });
        });
      });
      const [first, second] = tenants;
      tenants = [second];
      one.leases.refresh();
      await withDeadline('the release', atRelease);
      await database.query('delete from tenancy.engine_processes');
      await waitUntil('the loss', () => one.logger.warn.mock.calls.length > 0);
      tenants = [first, second];
      one.leases.refresh();
      await one.holds(2);
      end();
      await setImmediate();
      expect(one.held()).toHaveLength(2);
    });

    it('are those that the database has, also after a failover that has lost as many claims as releases', async () => {
      await createTenants(4);
      const other = await joined();
      const one = await start({ leaseMs: MINUTE_MS });
      await one.holds(2);
      const [lost, kept] = one.held();
      const released = tenants.find(each => !one.leases.isHeld(each));
      await database.query(
        `with claimed as (
           update tenancy.engine_leases set process_id = $1 where tenant_id = $2)
         insert into tenancy.engine_leases (tenant_id, process_id) values ($3, $4)`,
        [other.processId, lost, released, one.leases.processId],
      );
      await expect(
        waitUntil(
          'the process to notice',
          () => !one.leases.isHeld(lost) && one.leases.isHeld(released!),
        ),
      ).resolves.toBe(true);
      expect(one.leases.isHeld(kept)).toBe(true);
    });

    it('of others are divided where those of a lost process can not be', async () => {
      await createTenants(2);
      const [first, second] = tenants;
      const lost = await joined();
      await lost.store.claim([first], 1);
      await expire(lost.processId);
      const one = await start();
      one.leases.addFence(async () => {
        throw new Error('Sessions of a lost process do not end');
      });
      await one.holds(1);
      expect(one.held()).toEqual([second]);
      await waitUntil(
        'the warning',
        () => one.logger.warn.mock.calls.length > 0,
      );
      expect(one.logger.warn).toHaveBeenCalledWith(
        expect.stringMatching(/do not end/),
      );
    });

    it('go to the others at once when one stops', async () => {
      await createTenants(4);
      // With a time after which no test waits any more.
      const one = await start({ leaseMs: 10 * MINUTE_MS });
      await one.holds(4);
      const other = await start({ leaseMs: 10 * MINUTE_MS });
      await one.stop();
      expect(one.held()).toEqual([]);
      other.leases.refresh();
      await other.holds(4);
      await expect(rowsOf('engine_processes')).resolves.toHaveLength(1);
    });

    it('are not begun by one that stops, whose claim is under way', async () => {
      await createTenants(2);
      const [first, second] = tenants;
      tenants = [first];
      const one = await start({ leaseMs: MINUTE_MS });
      await one.holds(1);
      let end = () => undefined as void;
      const atRelease = new Promise<void>(resolve => {
        one.leases.beforeRelease(async () => {
          resolve();
          await new Promise<void>(ended => {
            end = ended;
          });
        });
      });
      const everHeld = new Set(one.held());
      one.leases.onChange(() => one.held().forEach(id_ => everHeld.add(id_)));
      await database.use(async client => {
        await client.query('begin');
        await client.query('lock table tenancy.engine_leases in share mode');
        tenants = [first, second];
        one.leases.refresh();
        await waitUntil('the claim', async () => {
          const { rows } = await client.query(
            `select from pg_locks where relation = 'tenancy.engine_leases'::regclass and not granted`,
          );
          return rows.length > 0;
        });
        one.stop();
        await withDeadline('the release', atRelease);
        await client.query('commit');
      });
      await waitUntil(
        'the claim to be done',
        async () => (await rowsOf('engine_leases')).length === 2,
      );
      end();
      await one.stop();
      expect([...everHeld]).toEqual([first]);
      await expect(rowsOf('engine_leases')).resolves.toEqual([]);
    });

    it('are not held any more when another one takes those of one that is cut off, which begins again without', async () => {
      await createTenants(2);
      const one = await start();
      await one.holds(2);
      const other = await start({ leaseMs: LEASE_MS });
      one.cutOff();
      // No two hold one at any time.
      await other.holds(2);
      expect(one.held()).toEqual([]);
      expect(other.logger.warn).toHaveBeenCalledWith(
        expect.stringMatching(/is gone or was paused/),
      );
      one.reconnect();
      await one.holds(1);
      await other.holds(1);
      expect(one.logger.warn).toHaveBeenCalledWith(
        expect.stringMatching(/has lost its leases/),
      );
    });

    it('are none of one that is for requests alone', async () => {
      await createTenants(2);
      const none = await start({ role: 'none' });
      const one = await start();
      await one.holds(2);
      expect(none.held()).toEqual([]);
      await expect(rowsOf('engine_processes')).resolves.toEqual([
        expect.objectContaining({ process_id: one.leases.processId }),
      ]);
    });
  });
});
