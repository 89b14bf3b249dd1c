import { createHmac, randomUUID } from 'crypto';
import { readFile } from 'fs/promises';
import http from 'http';
import { text } from 'stream/consumers';
import { targetPaths } from '@backstage/cli-common';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import {
  APPLICATION,
  createTenancyDatabase,
} from '@internal/catalog-testing/tenancyDatabase';
import { freePort, withClient } from '@internal/postgres';
import {
  createTestDatabases,
  eventually,
  waitUntil,
} from '@internal/postgres/testUtils';
import { Client, type ClientConfig } from 'pg';
import { parse } from 'yaml';
import { findNginx, Nginx } from './__fixtures__/Nginx';
import {
  operatorAccess,
  productionPortal,
} from './__fixtures__/productionPortal';
import { type RunningBackend, startBackend, untilReady } from './deployment';

// The backend of production behind a real nginx with deploy/nginx.conf, as it is deployed.

const DOMAIN = 'portal.example.com';
const ACME = `acme.${DOMAIN}`;
const TOKEN = randomUUID();
/** Beside the token, what the configuration has that no log may show. */
const SECRETS = {
  jwt: `jwt-${randomUUID()}`,
  session: `session-${randomUUID()}`,
  source: `source-${randomUUID()}`,
  referenced: `referenced-${randomUUID()}`,
  webhook: `webhook-${randomUUID()}`,
};
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };
const HEALTH = '/.backstage/health/v1/readiness';

const databases = createTestDatabases({ versions: 'newest' });
const [id] = databases.eachSupportedId().map(([name]) => name);

const executable = findNginx();

if (!executable) {
  // eslint-disable-next-line no-console
  console.warn('No nginx on the PATH: the tests behind it are left out');
}

const describeWithNginx = executable ? describe : describe.skip;

/** Secrets that the portal gives out, or is sent. */
const shownOnce: string[] = [];

/** A token that names a tenant. */
function tokenOf(tenantSlug: string, secret: string): string {
  const unsigned = [{ alg: 'HS256', typ: 'JWT' }, { tenantSlug }]
    .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = createHmac('sha256', secret).update(unsigned);
  return `${unsigned}.${signature.digest('base64url')}`;
}

let connection: ClientConfig;
let operator: Client;
let backend: RunningBackend;
let nginx: Nginx | undefined;
let metricsPort: number;

const component = (name: string) => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: { name, namespace: 'default' },
  spec: { type: 'service', lifecycle: 'production', owner: 'nobody' },
});

const send = (method: string, path: string, body?: object) =>
  fetch(`${backend.baseUrl}/api/${path}`, {
    method,
    headers: { ...AUTHORIZED, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  });

beforeAll(async () => {
  connection = await createTenancyDatabase(databases, id);
  // Elsewhere, to shut the database while it is connected.
  operator = new Client({ ...connection, database: 'postgres' });
  await operator.connect();
  const port = await freePort('localhost');
  metricsPort = await freePort('localhost');
  backend = await startBackend({
    port,
    ...productionPortal({
      connection,
      configs: ['app-config.production.yaml'],
      env: {
        APP_BASE_URL: `https://${DOMAIN}`,
        BACKEND_BASE_URL: `https://${DOMAIN}`,
        LOG_LEVEL: 'debug',
        HOOLI_TOKEN: SECRETS.referenced,
        OTEL_METRICS_EXPORTER: 'prometheus',
        OTEL_EXPORTER_PROMETHEUS_HOST: 'localhost',
        OTEL_EXPORTER_PROMETHEUS_PORT: String(metricsPort),
      },
      settings: {
        ...operatorAccess(TOKEN),
        tenancy_baseDomains: [DOMAIN],
        tenancy_jwtSecret: SECRETS.jwt,
        tenancy_audit_webhook: {
          url: 'http://localhost:1/',
          secret: SECRETS.webhook,
        },
        auth_session_secret: SECRETS.session,
        tenancy_tenants_acme: {
          integrations: {
            github: [{ host: 'github.com', token: SECRETS.source }],
          },
        },
        tenancy_tenants_hooli: { secrets: ['HOOLI_TOKEN'] },
        // With which its engine fails.
        tenancy_tenants_initech: { integrations: { github: [{ host: 1 }] } },
      },
    }),
  });
  await untilReady(backend);
  for (const slug of ['acme', 'hooli', 'initech']) {
    const created = await send('POST', 'tenants', {
      tenant_slug: slug,
      tenant_name: slug,
    });
    const { tenant_id } = await created.json();
    await insertEntities(connection, tenant_id, [component(`of-${slug}`)]);
  }
  if (executable) {
    nginx = await Nginx.start(executable, {
      domain: DOMAIN,
      backendPort: port,
    });
  }
});

afterAll(async () => {
  await nginx?.stop();
  await backend?.stop();
  await operator?.end();
});

const namesIn = (body: string): string[] =>
  JSON.parse(body).map(
    ({ metadata }: { metadata: { name: string } }) => metadata.name,
  );

describeWithNginx('nginx in front of the portal', () => {
  const ENTITIES = '/api/catalog/entities?filter=kind=component';

  it('serves each tenant at its hostname', async () => {
    const answer = await nginx!.get(ACME, ENTITIES, AUTHORIZED);
    expect(answer.status).toBe(200);
    expect(namesIn(answer.text)).toEqual(['of-acme']);
    expect(answer.headers['strict-transport-security']).toBeDefined();
  });

  it.each([
    ['x-tenant-slug', 'initech'],
    ['x-forwarded-host', `initech.${DOMAIN}`],
    ['forwarded', `host=initech.${DOMAIN}`],
  ])('drops %s: %s of a client', async (name, value) => {
    const forged = { ...AUTHORIZED, [name]: value };
    const atTenant = await nginx!.get(ACME, ENTITIES, forged);
    expect(namesIn(atTenant.text)).toEqual(['of-acme']);
    const atPortal = await nginx!.get(DOMAIN, ENTITIES, forged);
    expect([atPortal.status, atPortal.text]).toEqual([200, '[]']);
  });

  it('is what drops it: the backend itself goes by the header', async () => {
    const answer = await fetch(`${backend.baseUrl}${ENTITIES}`, {
      headers: { ...AUTHORIZED, 'x-tenant-slug': 'initech' },
    });
    expect(namesIn(await answer.text())).toEqual(['of-initech']);
  });

  it('sends who comes without TLS to it', async () => {
    const answer = await nginx!.getPlain(ACME, '/catalog?a=b');
    expect(answer.status).toBe(308);
    expect(answer.headers.location).toBe(`https://${ACME}/catalog?a=b`);
  });

  it.each(['acme.example.org', 'example.com', `${DOMAIN}.example.org`])(
    'has no answer for the host %s',
    async host => {
      await expect(nginx!.get(host, '/')).rejects.toThrow(/alert|handshake/);
      await expect(nginx!.getPlain(host, '/')).rejects.toThrow(/hang up/);
    },
  );

  it('keeps probes to the inside', async () => {
    expect((await nginx!.get(DOMAIN, HEALTH)).status).toBe(404);
  });

  it('lets WebSockets through', async () => {
    const path = '/api/signals';
    expect((await nginx!.get(DOMAIN, path, AUTHORIZED)).status).toBe(404);
    // Of the plugin's own, which asks for a user.
    const answer = await nginx!.get(DOMAIN, path, {
      ...AUTHORIZED,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': Buffer.alloc(16).toString('base64'),
    });
    expect(answer.status).toBe(403);
  });
});

describe('a probe', () => {
  const readiness = async () => {
    const response = await fetch(`${backend.baseUrl}${HEALTH}`);
    return { code: response.status, ...(await response.json()) };
  };
  const becomes = (expected: object) =>
    eventually(async () => expect(await readiness()).toMatchObject(expected));

  it('finds a process ready, and hears of an engine that fails', async () => {
    const found = await waitUntil('an engine to fail', async () => {
      const ready = await readiness();
      // Without engines while the database answers late.
      return ready.engines?.failed === 1 && ready;
    });
    expect(found).toMatchObject({ code: 200, status: 'ok' });
  });

  it('is told that the tables are not in place, and when they are again', async () => {
    await withClient(connection, async tables => {
      await tables.query('alter table tenancy.tenancy_ready rename to away');
      await becomes({ code: 503, reason: 'not-migrated' });
      await tables.query('alter table tenancy.away rename to tenancy_ready');
    });
    await becomes({ code: 200, status: 'ok' });
    expect(backend.isRunning()).toBe(true);
  });

  it('is told that the database is away, and the process lives on', async () => {
    const allow = (allowed: boolean) =>
      operator.query(
        `alter database "${connection.database}" allow_connections ${allowed}`,
      );
    await allow(false);
    await becomes({ code: 503, reason: 'database-away' });
    const liveness = HEALTH.replace('readiness', 'liveness');
    expect((await fetch(`${backend.baseUrl}${liveness}`)).status).toBe(200);
    await allow(true);
    await becomes({ code: 200, status: 'ok' });
  });
});

describe('the metrics', () => {
  const read = async () => {
    const response = await fetch(`http://localhost:${metricsPort}/metrics`);
    return response.text();
  };

  /** By the name of each, the labels that its samples have. */
  const scrape = async (): Promise<Map<string, Set<string>>> => {
    const found = new Map<string, Set<string>>();
    for (const line of (await read()).split('\n')) {
      const [, name, labels = ''] = /^(\w+)(?:\{(.*?)\})? /.exec(line) ?? [];
      if (name) {
        const known = found.get(name) ?? new Set();
        [...labels.matchAll(/(\w+)="/g)].forEach(([, label]) =>
          known.add(label),
        );
        found.set(name, known);
      }
    }
    return found;
  };

  const readDeployed = (file: string) =>
    readFile(targetPaths.resolveRoot(`deploy/${file}`), 'utf8');

  const rules = async (): Promise<string[]> => {
    const { groups } = parse(await readDeployed('alerts.yaml'));
    return groups.flatMap((group: { rules: { expr: string }[] }) =>
      group.rules.map(({ expr }) => expr),
    );
  };
  const panels = async (): Promise<string[]> => {
    const dashboard = JSON.parse(await readDeployed('dashboard.json'));
    return dashboard.panels.flatMap(
      ({ targets }: { targets: { expr: string }[] }) =>
        targets.map(({ expr }) => expr),
    );
  };
  // What Prometheus has of every target.
  const OF_PROMETHEUS = ['up'];
  const LABELS_OF_PROMETHEUS = ['job', 'instance'];

  /** The metrics of a query, and the labels that it names anywhere. */
  function namesOf(query: string): { metrics: string[]; labels: string[] } {
    const labels = [
      ...[...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names]) =>
        names.split(/, */),
      ),
      ...[...query.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, name]) => name),
    ];
    const metrics = query
      .replace(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)/g, ' ')
      .match(/\b[a-z]\w*\b(?!\s*\()/g);
    return { metrics: (metrics ?? []).filter(name => name !== 'or'), labels };
  }

  it.each([
    ['alert', rules],
    ['panel', panels],
  ])('have all that each %s asks for', async (_, queries) => {
    await send('GET', 'mockup/mockups');
    // Facts of the deployment come with the first look at the database.
    const scraped = await waitUntil('all metrics', async () => {
      const found = await scrape();
      return found.has('tenancy_engines_processes') && found;
    });
    OF_PROMETHEUS.forEach(name => scraped.set(name, new Set()));
    const asked = await queries();
    expect(asked.length).toBeGreaterThan(5);
    for (const query of asked) {
      const { metrics, labels } = namesOf(query);
      expect(metrics.filter(name => !scraped.has(name))).toEqual([]);
      expect(metrics.length).toBeGreaterThan(0);
      const known = metrics.flatMap(name => [...scraped.get(name)!]);
      expect([...known, ...LABELS_OF_PROMETHEUS]).toEqual(
        expect.arrayContaining(labels),
      );
    }
  });

  it('name a tenant where its requests and its use are counted alone', async () => {
    const scraped = await scrape();
    const withTenant = [...scraped].filter(([, labels]) =>
      [...labels].some(label => label.includes('tenant')),
    );
    expect(withTenant.map(([name]) => name).sort()).toEqual([
      'tenancy_resolutions_count_total',
      'tenancy_usage_database_duration_total',
      'tenancy_usage_requests_total',
    ]);
    const tasks = (await read()).match(/taskId="[^"]*"/g);
    expect(tasks!.filter(task => /[0-9a-f]{8}-/.test(task))).toEqual([]);
  });
});

describe('requests with secrets', () => {
  const github = (token: string) => ({
    integrations: { github: [{ host: 'github.com', token }] },
  });
  const signIn = {
    issuer: 'https://id.example.com',
    client_id: 'portal',
    client_secret: SECRETS.source,
  };

  it('are answered, also those that are wrong', async () => {
    const sent: [number, string, string, object?][] = [
      [200, 'PUT', 'tenants/hooli/catalog-config', github('${HOOLI_TOKEN}')],
      [400, 'PUT', 'tenants/hooli/catalog-config', github(SECRETS.source)],
      [400, 'PUT', 'tenants/hooli/sign-in', signIn],
      [400, 'GET', `catalog/entities?token=${SECRETS.source}`],
      [400, 'POST', 'catalog/locations', { target: SECRETS.source }],
    ];
    for (const [expected, method, path, body] of sent) {
      const { status } = await send(method, path, body);
      expect([method, path, status]).toEqual([method, path, expected]);
    }
  });

  it('are those of an invitation', async () => {
    const created = await send('POST', 'tenants/acme/invitations', {
      email: 'jane@example.com',
      role: 'member',
    });
    expect(created.status).toBe(201);
    const { token } = await created.json();
    shownOnce.push(token);
    const accepted = await send('POST', 'tenants/mine/accepted-invitations', {
      token,
    });
    // Not a user.
    expect(accepted.status).toBe(403);
  });

  it.each(['jwt', 'session'] as const)(
    'have tokens of a tenant, signed with the secret of %s',
    async name => {
      const token = tokenOf('acme', SECRETS[name]);
      shownOnce.push(token);
      const answer = await fetch(`${backend.baseUrl}/api/catalog/entities`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(answer.status).toBe(401);
    },
  );
});

// The last: it ends the process.
describe('a process that is to stop', () => {
  it('answers what is under way, says that it is not ready, and leaves nothing in the database', async () => {
    const body = JSON.stringify({ tenant_name: 'Begun before the stop' });
    const request = http.request(`${backend.baseUrl}/api/tenants/acme`, {
      method: 'PATCH',
      headers: {
        ...AUTHORIZED,
        'content-type': 'application/json',
        'content-length': body.length,
        expect: '100-continue',
      },
    });
    const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
      request.once('response', resolve).once('error', reject);
    });
    request.flushHeaders();
    await new Promise(resolve => request.once('continue', resolve));
    const stopped = backend.stop();
    await waitUntil('the process to say that it stops', async () => {
      const response = await fetch(`${backend.baseUrl}${HEALTH}`);
      return (await response.json()).reason === 'stopping';
    });
    expect(backend.isRunning()).toBe(true);
    request.end(body);
    const response = await answered;
    expect([response.statusCode, await text(response)]).toEqual([
      200,
      expect.stringContaining('Begun before the stop'),
    ]);
    await stopped;
    expect(await backend.exited).toBe(0);
    // PostgreSQL sees a moment later that a connection was closed.
    await eventually(async () => {
      const { rows } = await operator.query(
        `select application_name from pg_stat_activity
          where datname = $1 and pid <> pg_backend_pid()`,
        [connection.database],
      );
      expect(rows).toEqual([]);
    });
    const tables = new Client(connection);
    await tables.connect();
    const { rows: processes } = await tables
      .query('select from tenancy.engine_processes where expires_at > now()')
      .finally(() => tables.end());
    expect(processes).toEqual([]);
  });

  it('has shown no secret in its log, with all that there is for debugging', () => {
    const log = backend.log();
    expect(log).toContain('debug');
    const secrets = [
      ...[TOKEN, APPLICATION.password, String(connection.password)],
      ...[...Object.values(SECRETS), ...shownOnce],
    ];
    expect(secrets.length).toBeGreaterThan(10);
    const shown = secrets
      .filter(secret => log.includes(secret))
      .map(secret => log.split('\n').find(line => line.includes(secret)));
    expect(shown).toEqual([]);
  });
});
