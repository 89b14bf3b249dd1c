import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from './faults';
import { Load } from './load/Load';
import type { Recovery, Tally } from './load/Tally';
import type { MemoryAnswer } from './servers/control';
import type { Size } from './sizes';
import type { Connections, World } from './world/World';

/** What clients felt of a fault, and what it left behind. */
export interface FaultFigures {
  what: string;
  tally: Tally;
  /** From the end of the fault on. */
  recovery: Recovery;
  connections: { before: Connections; after: Connections };
  memory: { before: MemoryAnswer; after: MemoryAnswer };
  /** What must not have happened. */
  failures: string[];
}

// Longer than any pause that the backend or PgBouncer makes before it tries again.
const LONGEST_RECOVERY_MS = 20_000;

const SHOWN_FAILURES = 5;

/** Inflicts a fault on a backend under load. */
export async function measureFault(
  world: World,
  fault: Fault,
  options: { size: Size; number: number },
): Promise<FaultFigures> {
  const { size, number } = options;
  const what = world.bouncer ? `PgBouncer: ${fault.what}` : fault.what;
  const memory = await world.memory();
  const load = Load.start(world.url, size, `fault-${number}`);
  await delay(size.before * 1000);
  const before = await world.connections();
  await fault.inflict(world, size.lasting);
  const recovery = load.watchRecovery();
  await within(LONGEST_RECOVERY_MS, recovery.complete);
  await delay(size.after * 1000);
  const tally = await load.stop();
  const after = await world.calmConnections();
  const figures = {
    ...{ what, tally, recovery },
    connections: { before, after },
    memory: { before: memory, after: await world.memory() },
  };
  return { ...figures, failures: findFailures(figures, fault, world) };
}

function findFailures(
  { what, tally, recovery, connections }: Omit<FaultFigures, 'failures'>,
  { felt }: Fault,
  { mostConnections }: World,
): string[] {
  const { open, busy } = connections.after;
  const wrong = tally.failures;
  return [
    ...wrong.slice(0, SHOWN_FAILURES),
    ...(wrong.length > SHOWN_FAILURES
      ? [`${wrong.length - SHOWN_FAILURES} further answers were wrong`]
      : []),
    ...(recovery.all === undefined
      ? ['Not every client was answered again']
      : []),
    ...(felt && tally.refusals === 0 ? ['Nobody was refused: no fault'] : []),
    ...(busy > 0 ? [`${busy} connections are busy with nothing`] : []),
    ...(open > mostConnections
      ? [`${open} connections are open, where ${mostConnections} may be`]
      : []),
  ].map(failure => `${what}: ${failure}`);
}

async function within(ms: number, event: Promise<void>): Promise<void> {
  const giveUp = new AbortController();
  const { signal } = giveUp;
  await Promise.race([
    event,
    delay(ms, undefined, { signal }).catch(() => undefined),
  ]);
  giveUp.abort();
}
