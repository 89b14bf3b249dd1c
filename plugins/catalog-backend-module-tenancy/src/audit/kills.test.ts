import {
  APPLICATION,
  createTenancyDatabase,
} from '@internal/catalog-testing/tenancyDatabase';
import { freePort } from '@internal/postgres';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { Client, type ClientConfig } from 'pg';

const databases = createTestDatabases({ versions: 'newest' });

const OPERATIONS = 10_000;
const CLIENTS = 20;
const KILLS = [2_000, 5_000, 8_000];
const TOKEN = 'token-of-the-caller';

describe.each(databases.eachSupportedId())(
  'the audit trail of a backend that is killed, on %s',
  id => {
    let connection: ClientConfig;
    let client: Client;
    let child: ChildProcess;
    let baseUrl: string;

    const rename = async (tenant: number, name: string) => {
      const { status } = await fetch(`${baseUrl}/api/tenants/t${tenant}`, {
        method: 'PATCH',
        headers: {
          Authorization: `Bearer ${TOKEN}`,
          'Content-Type': 'application/json',
        },
        body: JSON.stringify({ tenant_name: name }),
      });
      return status;
    };

    async function start() {
      const { host, port, user, password, database } = connection;
      const config = {
        app: { baseUrl },
        backend: {
          baseUrl,
          listen: { host: '127.0.0.1', port: Number(new URL(baseUrl).port) },
          auth: {
            externalAccess: [
              { type: 'static', options: { token: TOKEN, subject: 'caller' } },
            ],
          },
          database: {
            client: 'pg',
            connection: { host, port, user, password },
            plugin: { catalog: { connection: { database } } },
          },
        },
        tenancy: {
          enabled: true,
          admins: ['caller'],
          database: { connection: APPLICATION },
        },
      };
      child = spawn(
        process.execPath,
        [
          '--require',
          require.resolve('@backstage/cli/config/nodeTransform.cjs'),
          resolve(__dirname, '__testUtils__/registryBackend.ts'),
        ],
        {
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
          env: { ...process.env, BACKEND_CONFIG: JSON.stringify(config) },
        },
      );
      await waitUntil('the registry answers', async () => {
        const answer = await rename(0, 'first').catch(() => undefined);
        return answer === 200;
      });
    }
    async function kill(signal: NodeJS.Signals) {
      child.kill(signal);
      await once(child, 'close');
    }

    beforeAll(async () => {
      connection = await createTenancyDatabase(databases, id);
      client = new Client(connection);
      await client.connect();
      await client.query(
        `insert into tenancy.tenants (tenant_slug, tenant_name)
         select 't' || n, 'T' from generate_series(0, ${CLIENTS - 1}) n`,
      );
      baseUrl = `http://127.0.0.1:${await freePort()}`;
      await start();
    });
    afterAll(async () => {
      child?.kill('SIGKILL');
      await client?.end();
    });

    it('has who has created a tenant, or there is no tenant', async () => {
      const other = new Client(connection);
      await other.connect();
      await other.query('begin; lock table tenancy.tenant_audit in share mode');
      const creating = fetch(`${baseUrl}/api/tenants`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${TOKEN}`,
          'Content-Type': 'application/json',
        },
        body: JSON.stringify({ tenant_slug: 'new', tenant_name: 'New' }),
      });
      await waitUntil('the event to wait for the lock', async () => {
        const { rows } = await client.query(
          `select from pg_locks where not granted and relation = 'tenancy.tenant_audit'::regclass`,
        );
        return rows.length > 0;
      });
      // A process that is killed now leaves none of both.
      const { rows } = await client.query(
        `select tenant_slug from tenancy.tenants where tenant_slug = 'new'`,
      );
      await other.end();
      expect(rows).toEqual([]);
      expect((await creating).status).toBe(201);
    });

    it('has each operation that was answered, and each that changed something', async () => {
      const answered = new Set<string>();
      let next = 0;
      let restarted = Promise.resolve();
      const kills = [...KILLS];
      const work = async (tenant: number) => {
        while (next < OPERATIONS) {
          const operation = next;
          next += 1;
          if (operation >= (kills[0] ?? Infinity)) {
            kills.shift();
            restarted = kill('SIGKILL').then(start);
          }
          await restarted;
          const name = `name ${operation}`;
          const status = await rename(tenant, name).catch(() => undefined);
          if (status === 200) {
            answered.add(name);
          }
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, (_, n) => work(n)));
      // What is queued is stored at an orderly stop.
      await kill('SIGTERM');

      const { rows } = await client.query(
        `select meta #>> '{changes,tenant_name}' as name, outcome, actor from tenancy.tenant_audit`,
      );
      const stored = new Set(
        rows.filter(row => row.outcome === 'succeeded').map(row => row.name),
      );
      expect([...answered].filter(name => !stored.has(name))).toEqual([]);
      expect(answered.size).toBeGreaterThan(OPERATIONS - 4 * CLIENTS);
      expect(new Set(rows.map(row => row.actor))).toEqual(new Set(['caller']));

      // The last one of a tenant may have been made and not answered.
      const begun = rows.filter(row => row.outcome === null).length;
      const unanswered = await client.query(
        'select tenant_name as name from tenancy.tenants',
      );
      const unrecorded = unanswered.rows.filter(
        ({ name }) => /^name/.test(name) && !stored.has(name),
      );
      expect(unrecorded.length).toBeLessThanOrEqual(begun);
    });
  },
);
