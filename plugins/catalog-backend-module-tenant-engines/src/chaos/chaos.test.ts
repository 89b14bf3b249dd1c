import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import { freePort, Random } from '@internal/postgres';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig, type QueryResultRow } from 'pg';
import { BackendProcess } from '../__testUtils__/BackendProcess';
import { RUNS_TABLE } from '../__testUtils__/runRecorder';
import { componentYaml, SourceServer } from '../__testUtils__/SourceServer';

const databases = createTestDatabases({ versions: 'newest' });

/** As CONTRIBUTING.md names them. */
function sizeOf(name: string, small: number): number {
  return Number(process.env[`ENGINE_CHAOS_${name}`] ?? small);
}

const PROCESSES = sizeOf('PROCESSES', 2);
const TENANTS = sizeOf('TENANTS', 4);
const KILLS = sizeOf('KILLS', 1);
const PAUSES = sizeOf('PAUSES', 1);
const SEED = sizeOf('SEED', Math.floor(Math.random() * 1e9));
const LEASE_SECONDS = 5;
/** Beside the lease: to notice, to fence, and to start engines on a machine that is busy. */
const PATIENCE_SECONDS = sizeOf('PATIENCE_SECONDS', 120);

describe.each(databases.eachSupportedId())(
  `${PROCESSES} processes with ${TENANTS} tenants, of which ${KILLS} are killed and ${PAUSES} paused (ENGINE_CHAOS_SEED=${SEED}), on %s`,
  id => {
    const random = new Random(SEED);
    let connection: ClientConfig;
    let client: Client;
    let source: SourceServer;
    let processes: BackendProcess[] = [];
    /** By slug. */
    const tenantIds = new Map<string, string>();
    /** What the sources have: the names of owners, by the slug of the tenant. */
    const owners = new Map<string, string>();

    beforeAll(async () => {
      connection = await createTenancyDatabase(databases, id);
      client = new Client(connection);
      await client.connect();
      source = await new SourceServer().listen();
      await query(RUNS_TABLE);
      for (let i = 0; i < TENANTS; i += 1) {
        const slug = `tenant-${i}`;
        const [row] = await query<{ id: string }>(
          `insert into tenancy.tenants (tenant_slug, tenant_name) values ($1, $1) returning tenant_id as id`,
          [slug],
        );
        tenantIds.set(slug, row.id);
        change(slug);
      }
      // The first one makes the tables.
      processes = [await start()];
      await untilServed('by one process');
      while (processes.length < PROCESSES) {
        processes.push(await start());
      }
      await untilServed('by all processes');
    });

    afterAll(async () => {
      await Promise.all(processes.map(each => each.kill()));
      await source?.stop();
      await client?.end();
    });

    async function query<TRow extends QueryResultRow>(
      text: string,
      values: unknown[] = [],
    ): Promise<TRow[]> {
      return (await client.query<TRow>(text, values)).rows;
    }

    function change(slug: string): void {
      const owner = `team-${random.below(1e9)}`;
      owners.set(slug, owner);
      source.put(`/${slug}.yaml`, componentYaml('app', owner));
    }

    async function start(): Promise<BackendProcess> {
      return BackendProcess.start({
        baseUrl: `http://127.0.0.1:${await freePort()}`,
        connection,
        source: source.host,
        config: { recordRuns: true },
        tenancy: {
          engines: {
            leaseSeconds: LEASE_SECONDS,
            processingInterval: { seconds: 3 },
          },
          tenants: Object.fromEntries(
            [...tenantIds.keys()].map(slug => [
              slug,
              {
                catalog: {
                  locations: [
                    {
                      type: 'url',
                      target: `http://${source.host}/${slug}.yaml`,
                    },
                  ],
                },
              },
            ]),
          ),
        },
      });
    }

    /** Waits for something to see; a backend that has ended will never show it. */
    const until = (what: string, look: () => Promise<boolean>) =>
      processes[processes.length - 1].until(what, () => {
        processes.forEach(each => each.throwIfEnded());
        return look();
      });

    /** Whether each tenant has a run that has begun since, and whether each process has tenants. */
    const areServedSince = async (since: Date) => {
      const [{ served, working }] = await query<{
        served: number;
        working: number;
      }>(
        `select (select count(distinct schema)::int from task_runs where begun > $1) as served,
                (select count(distinct process_id)::int from tenancy.engine_leases
                   join tenancy.engine_processes p using (process_id)
                  where p.expires_at > now()) as working`,
        [since],
      );
      return served === TENANTS && working === processes.length;
    };

    const now = async () =>
      (await query<{ now: Date }>('select clock_timestamp() as now'))[0].now;

    async function untilServed(what: string): Promise<void> {
      const since = await now();
      await until(`each tenant to be served ${what}`, () =>
        areServedSince(since),
      );
    }

    /** A process in the midst of a run. */
    async function atWork() {
      let found: { pid: number; run: string } | undefined;
      await until('a run to be under way', async () => {
        [found] = await query<{ pid: number; run: string }>(
          `select pid, run from task_runs
            where not has_ended and pid = any ($1)
              and last_write between begun + interval '1 ms' and clock_timestamp()
              and last_write > clock_timestamp() - interval '300 ms'
              and begun > clock_timestamp() - interval '1 s'
            order by md5(run::text || $2) limit 1`,
          [processes.map(({ pid }) => pid), String(random.next())],
        );
        return found !== undefined;
      });
      const { pid } = found!;
      return processes.find(each => each.pid === pid)!;
    }

    async function unendedRunsOf({ pid }: BackendProcess): Promise<string[]> {
      const rows = await query<{ run: string }>(
        'select run from task_runs where pid = $1 and not has_ended',
        [pid],
      );
      return rows.map(({ run }) => run);
    }

    it('work for each tenant in one of them at a time, and lose nothing', async () => {
      const begun = await now();
      const blows = [
        ...Array.from({ length: KILLS }, () => 'kill' as const),
        ...Array.from({ length: PAUSES }, () => 'pause' as const),
      ];
      /** The runs that pauses have interrupted. */
      const interrupted: string[] = [];
      while (blows.length > 0) {
        const [blow] = blows.splice(random.below(blows.length), 1);
        await delay(random.below(2_000));
        const victim = await atWork();
        [...tenantIds.keys()]
          .filter(() => random.chance(0.5))
          .forEach(slug => change(slug));
        if (blow === 'kill') {
          await victim.kill();
          processes = processes.filter(each => each !== victim);
          processes.push(await start());
        } else {
          victim.pause();
          const others = processes.filter(each => each !== victim);
          await others[0].until(
            'others to take over',
            async () =>
              others.some(({ log }) => log.includes('is gone or was paused')) &&
              (
                await query(
                  `select from tenancy.engine_processes where name like '% ' || $1`,
                  [victim.pid],
                )
              ).length === 0,
          );
          const runs = await unendedRunsOf(victim);
          if (runs.length === 0) {
            // It came to its end right before the pause.
            blows.push('pause');
          }
          await delay(random.below(LEASE_SECONDS * 1000));
          victim.resume();
          await victim.until('the resumed process to join again', async () =>
            victim.log.includes('has lost its leases'),
          );
          interrupted.push(...runs);
        }
        await untilServed(`after a ${blow}`);
      }
      // Whose leases were lost meanwhile.
      expect(interrupted.length).toBeGreaterThanOrEqual(PAUSES);
      const ended = await query(
        'select from task_runs where run = any ($1) and has_ended',
        [interrupted],
      );
      expect(ended).toEqual([]);

      await until('the entities to be those of the sources', async () => {
        const rows = await query<{ id: string; owner: string }>(
          `select tenant_id as id, final_entity #>> '{spec,owner}' as owner from tenancy.entities
            where entity_ref = 'component:default/app' and deleted_at is null`,
        );
        const shown = new Map(rows.map(row => [row.id, row.owner]));
        return [...tenantIds].every(
          ([slug, tenantId]) => shown.get(tenantId) === owners.get(slug),
        );
      });

      const overlapping = await query(
        `select one.schema, one.pid, other.pid as other, one.begun, one.last_write, other.begun as other_begun
           from task_runs one join task_runs other
             on other.schema = one.schema and other.run <> one.run
            and other.begun between one.begun and one.last_write`,
      );
      expect(overlapping).toEqual([]);

      const [{ gap, schemas }] = await query<{
        gap: number;
        schemas: string[];
      }>(
        `select max(extract(epoch from next - begun))::float8 as gap,
                array_agg(distinct schema) as schemas
           from (select schema, begun, lead(begun, 1, clock_timestamp())
                          over (partition by schema order by begun) as next
                   from task_runs) run
          where next > $1`,
        [begun],
      );
      expect(schemas.sort()).toEqual(
        [...tenantIds.values()].map(engineSchemaOf).sort(),
      );
      expect(gap).toBeLessThan(LEASE_SECONDS + PATIENCE_SECONDS);
    });
  },
);
