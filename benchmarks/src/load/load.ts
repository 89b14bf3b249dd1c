import type { FigureTable } from '../harness/Benchmark';
import type { Client } from './clients/Client';
import { Diary, DIARY_HEAD } from './clients/Diary';
import { createRandom, type Task } from './clients/Exchange';
import { intrusionsInto } from './clients/intrusions';
import { READS, whatChanges } from './clients/reads';
import { MUTATION, SIGN_UP } from './clients/writes';
import type { LoadServer, NewClient } from './LoadServer';
import type { LoadTenant } from './LoadTenant';

/**
 * The clients of some tenants, as many for each. One of each tenant changes it, half
 * of them are users, of whom some sign new tenants up, and half name their tenant by the
 * hostname.
 */
export function createLoad(
  server: LoadServer,
  tenants: LoadTenant[],
  clients: number,
): Client[] {
  const everybody: Task[] = [...READS, intrusionsInto(tenants)];
  return server.createClients(
    Array.from({ length: clients }, (_, index): NewClient => {
      const caller = index % 2 === 0 ? 'user' : 'service';
      return {
        caller,
        naming: index % 4 < 2 ? 'hostname' : 'header',
        tenant: tenants[index % tenants.length],
        tasks: [
          ...everybody,
          ...(index < tenants.length ? [MUTATION] : []),
          ...(caller === 'user' ? [SIGN_UP] : []),
        ],
        random: createRandom(index),
      };
    }),
  );
}

/** Has clients ask for some seconds. */
export async function keepBusy(
  clients: Client[],
  seconds: number,
): Promise<Diary> {
  const end = performance.now() + seconds * 1000;
  return keepAsking(clients, () => performance.now() >= end);
}

/** Has clients ask until it is over. */
export async function keepAsking(
  clients: Client[],
  isOver: () => boolean,
): Promise<Diary> {
  const diary = new Diary();
  await Promise.all(clients.map(client => client.keepAsking(diary, isOver)));
  diary.close();
  return diary;
}

/** Makes sure that no change was lost: each tenant shows its last one, and all of it. */
export async function checkLastChanges(
  clients: Client[],
  tenants: LoadTenant[],
): Promise<Diary> {
  const diary = new Diary();
  for (const [index, tenant] of tenants.entries()) {
    await clients[index].ask(whatChanges(tenant), diary);
  }
  return diary;
}

/** What is told of a diary. */
export function tableOf(title: string, diary: Diary): FigureTable {
  return { title, head: DIARY_HEAD, rows: diary.rows() };
}
