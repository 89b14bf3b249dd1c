// What the audit trail costs a change of the registry: a backend that stores the events of one round
// of requests and not those of the next, as two processes differ by more than the trail costs. Each
// argument is a checkout, all of which are measured in turns, each with a database of its own on one
// server. By hand:
//
//   node --require @backstage/cli/config/nodeTransform.cjs …/cost.ts . ../before

import { freePort, Postgres } from '@internal/postgres';
import { migrateTo } from 'backstage-catalog-tenancy-migrations';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { basename, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

const ROUNDS = Number(process.env.ROUNDS ?? 100);
const REQUESTS = Number(process.env.REQUESTS ?? 40);
const CLIENTS = (process.env.CLIENTS ?? '1,8').split(',').map(Number);
const TOKEN = 'token-of-the-caller';
const PASSWORD = 'only-for-measurements';
const BACKEND = resolve(__dirname, 'costBackend.ts');

interface Side {
  name: string;
  client: Client;
  child: ChildProcess;
  baseUrl: string;
  database: string;
}

/** The processor time of a process with all of its threads, in milliseconds. */
function cpuOf(pid: number): number {
  const threads = `/proc/${pid}/task`;
  try {
    return readdirSync(threads)
      .map(id => readFileSync(`${threads}/${id}/schedstat`, 'utf8'))
      .reduce((sum, times) => sum + Number(times.split(' ')[0]) / 1e6, 0);
  } catch {
    return 0;
  }
}

async function startSide(postgres: Postgres, argument: string): Promise<Side> {
  const folder = resolve(argument);
  const name = basename(folder).replace(/\W/g, '_');
  const { host, port, user, password } = postgres.connection;
  const database = `side_${name}`;
  const admin = new Client(postgres.connectionString());
  await admin.connect();
  await admin.query(`create database ${database}`);
  const connection = { host, port, user, password, database };
  await migrateTo(5, { connection, schema: 'tenancy', createTables: true });
  await admin.query(`alter role portal_app password '${PASSWORD}'`);
  await admin.end();
  const client = new Client(connection);
  await client.connect();
  await client.query(
    `insert into tenancy.tenants (tenant_slug, tenant_name)
     select 't' || n, 'T' from generate_series(0, 999) n`,
  );
  const listen = { host: '127.0.0.1', port: await freePort() };
  const baseUrl = `http://127.0.0.1:${listen.port}`;
  const config = {
    app: { baseUrl },
    backend: {
      baseUrl,
      listen,
      auth: {
        externalAccess: [
          { type: 'static', options: { token: TOKEN, subject: 'caller' } },
        ],
      },
      database: {
        client: 'pg',
        connection: { host, port, user, password },
        prefix: `${database}_`,
        plugin: { catalog: { connection: { database } } },
      },
    },
    tenancy: {
      enabled: true,
      admins: ['caller'],
      database: { connection: { user: 'portal_app', password: PASSWORD } },
    },
  };
  const child = spawn(
    process.execPath,
    [
      '--require',
      require.resolve('@backstage/cli/config/nodeTransform.cjs'),
      BACKEND,
    ],
    {
      cwd: folder,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, BACKEND_CONFIG: JSON.stringify(config) },
    },
  );
  const side = { name, client, child, baseUrl, database };
  while ((await rename(side, 0, 'first').catch(() => 0)) !== 200) {
    await delay(200);
  }
  // As in any portal that serves a tenant: from then on Node.js follows asynchronous calls.
  await fetch(`${baseUrl}/api/catalog/entities?limit=1`, {
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
  return side;
}

async function rename(
  { baseUrl }: Side,
  tenant: number,
  name: string,
): Promise<number> {
  const response = await fetch(`${baseUrl}/api/tenants/t${tenant}`, {
    method: 'PATCH',
    headers: {
      Authorization: `Bearer ${TOKEN}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ tenant_name: name }),
  });
  await response.arrayBuffer();
  return response.status;
}

interface Round {
  ms: number[];
  wallMs: number;
  backendMs: number;
  databaseMs: number;
}

async function round(side: Side, clients: number): Promise<Round> {
  const pids = await side.client.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()`,
    [side.database],
  );
  const databaseCpu = () =>
    pids.rows.reduce((sum, { pid }) => sum + cpuOf(pid), 0);
  const before = { backend: cpuOf(side.child.pid!), database: databaseCpu() };
  const began = performance.now();
  const ms: number[] = [];
  let next = 0;
  const work = async (tenant: number) => {
    for (; next < REQUESTS; ) {
      next += 1;
      const start = performance.now();
      const status = await rename(side, tenant, `name ${Math.random()}`);
      ms.push(performance.now() - start);
      if (status !== 200) {
        throw new Error(`Status ${status}`);
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, n) => work(n)));
  return {
    ms,
    wallMs: performance.now() - began,
    backendMs: (cpuOf(side.child.pid!) - before.backend) / REQUESTS,
    databaseMs: (databaseCpu() - before.database) / REQUESTS,
  };
}

const quantile = (values: number[], q: number) =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * q)];
/** The median, and the quartiles. */
const shown = (values: number[], digits = 2) =>
  [0.5, 0.25, 0.75].map(q => quantile(values, q).toFixed(digits)).join(' ');
const sumOf = (values: number[]) => values.reduce((a, b) => a + b, 0);

async function setTrail({ child }: Side, isOn: boolean): Promise<void> {
  child.send({ isOn });
  await once(child, 'message');
}

function print({ name }: Side, without: Round[], with_: Round[]): void {
  const ratio = (of: (round: Round) => number) => {
    const whole = sumOf(with_.map(of)) / sumOf(without.map(of));
    return `${whole.toFixed(3)} (${shown(
      with_.map((each, n) => of(each) / of(without[n])),
      3,
    )})`;
  };
  for (const [trail, rounds] of Object.entries({ without, with: with_ })) {
    const mean = (of: (round: Round) => number) =>
      (sumOf(rounds.map(of)) / rounds.length).toFixed(2);
    console.log(
      `${name} ${trail} the trail: ${shown(
        rounds.flatMap(({ ms }) => ms),
      )} ms; processor ${mean(r => r.backendMs)} + ${mean(r => r.databaseMs)}`,
    );
  }
  console.log(
    `${name} ratio: time ${ratio(r => r.wallMs)}, processor ${ratio(
      r => r.backendMs + r.databaseMs,
    )}, of the backend ${ratio(r => r.backendMs)}, of the database ${ratio(
      r => r.databaseMs,
    )}`,
  );
}

async function measure(): Promise<void> {
  const postgres = await Postgres.start({ settings: { autovacuum: 'off' } });
  const sides: Side[] = [];
  try {
    for (const argument of process.argv.slice(2)) {
      sides.push(await startSide(postgres, argument));
    }
    for (const clients of CLIENTS) {
      const rounds = new Map(
        sides.map(side => [side, { off: [] as Round[], on: [] as Round[] }]),
      );
      for (let n = -10; n < ROUNDS; n += 1) {
        for (const side of sides) {
          for (const isOn of n % 2 ? [true, false] : [false, true]) {
            await setTrail(side, isOn);
            const result = await round(side, clients);
            if (n >= 0) {
              rounds.get(side)![isOn ? 'on' : 'off'].push(result);
            }
          }
        }
      }
      console.log(
        `${clients} clients, ${ROUNDS} rounds of ${REQUESTS}, load ${loadavg()[0].toFixed(
          1,
        )}`,
      );
      rounds.forEach(({ off, on }, side) => print(side, off, on));
    }
  } finally {
    for (const { child, client } of sides) {
      child.kill('SIGTERM');
      await once(child, 'close');
      await client.end();
    }
    await postgres.stop();
  }
}

measure().catch(error => {
  console.error(error);
  process.exitCode = 1;
});
