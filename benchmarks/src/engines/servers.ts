import { setTimeout as delay } from 'node:timers/promises';
import { SERVICE_TOKEN } from '../harness/backend';
import type { BenchmarkContext } from '../harness/Benchmark';
import { adoptCatalog, createEmptyCatalog } from '../harness/catalogs';
import { ask } from '../harness/load';
import { ServerProcess } from '../harness/servers';
import type { EnginesBackendSettings, Provision } from './backend';

const LIMIT_MS = 600_000;
const POLL_MS = 50;

/** Of a server that is too busy to say what it serves. */
const REFUSED = /: (429|503), /;

/** Starts a backend on an empty catalog. */
export async function startServer(
  { postgres }: BenchmarkContext,
  name: string,
  withEngines: boolean,
): Promise<ServerProcess> {
  const database = await createEmptyCatalog({ postgres, name });
  if (withEngines) {
    await adoptCatalog(database);
  }
  const settings: EnginesBackendSettings = {
    connection: { ...postgres.connection, database: name },
    withEngines,
  };
  return ServerProcess.start(require.resolve('./backend'), settings);
}

/** Creates a tenant, and waits for the first entity of its engine. */
export async function addTenant(
  server: ServerProcess,
  tenant: string,
): Promise<void> {
  const body = { tenant_slug: tenant, tenant_name: tenant };
  await send(server, 'POST', 'tenants', { body });
  await untilServed(server, { length: 1, revision: 0 }, tenant);
}

/** Waits until so many entities are served as the provider gave them last. */
export async function untilServed(
  server: ServerProcess,
  { length, revision }: Pick<Provision, 'length' | 'revision'>,
  tenant?: string,
): Promise<void> {
  const path = `catalog/entities/by-query?limit=1&fields=kind&filter=metadata.labels.revision=${revision}`;
  const end = performance.now() + LIMIT_MS;
  for (;;) {
    const answer = await send(server, 'GET', path, { tenant }).catch(error => {
      if (!REFUSED.test(error.message)) {
        throw error;
      }
    });
    if (answer && JSON.parse(answer).totalItems === length) {
      return;
    }
    if (performance.now() > end) {
      throw new Error(`${length} entities took more than ${LIMIT_MS} ms`);
    }
    await delay(POLL_MS);
  }
}

/** Sends a request as the service that administers tenants. */
export function send(
  { url }: ServerProcess,
  method: 'GET' | 'POST',
  path: string,
  { tenant, body }: { tenant?: string; body?: object },
): Promise<string> {
  return ask(url, {
    method,
    path: `/api/${path}`,
    headers: {
      authorization: `Bearer ${SERVICE_TOKEN}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(tenant && { 'x-tenant-slug': tenant }),
    },
    body: body && JSON.stringify(body),
  });
}
