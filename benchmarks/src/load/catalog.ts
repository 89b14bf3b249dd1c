import { createStockTables } from '../catalog/stockCatalog';
import { adoptCatalog } from '../catalog/tenantTables';
import type { BenchmarkContext } from '../harness/Benchmark';
import { withKnex } from '../harness/database';
import { runStatements } from '../migration/database';
import { givePartition } from '../migration/engine';
import { operate } from '../migration/operator';
import { Diary } from './clients/Diary';
import { createRandom } from './clients/Exchange';
import { creation, filling } from './clients/writes';
import type { LoadServer } from './LoadServer';
import { LoadTenant } from './LoadTenant';
import type { Size } from './sizes';

const BATCH = 500;
/** How many tenants are created at a time. */
const AT_ONCE = 4;
/** Of so many tenants, one has partitions of its own. */
const PARTITIONED = 4;

/** Creates an empty catalog that has tenants, and returns its name. */
export async function createCatalog({
  postgres,
}: BenchmarkContext): Promise<string> {
  const name = 'load';
  await runStatements({ postgres, name: 'postgres' }, [
    `create database ${name}`,
  ]);
  await withKnex(postgres, name, createStockTables);
  await adoptCatalog({ postgres, name });
  return name;
}

/** Creates tenants and what they have, as their clients would. */
export async function createTenants(
  server: LoadServer,
  { tenants, entities, noisy }: Size,
): Promise<{ tenants: LoadTenant[]; noisy: LoadTenant }> {
  const created = [
    ...Array.from(
      { length: tenants },
      (_, index) => new LoadTenant(`tenant-${index}`, entities + index),
    ),
    new LoadTenant('noisy', noisy.entities),
  ];
  // The largest one first, for it takes longest.
  const waiting = [...created];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        await createTenant(server, next);
      }
    }),
  );
  return { tenants: created.slice(0, -1), noisy: created.at(-1)! };
}

/** Gives some of the tenants partitions of their own, as an operator does. */
export async function givePartitions(
  { postgres }: BenchmarkContext,
  name: string,
  tenants: LoadTenant[],
): Promise<void> {
  for (const { slug } of tenants.filter((_, at) => at % PARTITIONED === 0)) {
    await operate({ postgres, name }, ({ context }) =>
      givePartition(context, slug),
    );
  }
}

async function createTenant(
  server: LoadServer,
  tenant: LoadTenant,
): Promise<void> {
  const diary = new Diary();
  const [client] = server.createClients([
    {
      caller: 'user',
      naming: 'header',
      tenant,
      tasks: [],
      random: createRandom(0),
    },
  ]);
  await client.ask(creation(tenant), diary);
  const entities = tenant.initialEntities();
  for (let first = 0; first < entities.length; first += BATCH) {
    await client.ask(
      filling(tenant, entities.slice(first, first + BATCH)),
      diary,
    );
  }
  if (diary.failed + diary.refused > 0) {
    throw new Error(
      `${tenant.slug} could not be created: ${diary.failures.join('; ')}`,
    );
  }
}
