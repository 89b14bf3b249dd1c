import type { FigureTable, Settings } from '../harness/Benchmark';
import { type Comparison, compare } from '../harness/comparison';
import { type Contestant, measureInTurn } from '../harness/rounds';
import type { Client } from './clients/Client';
import { Diary } from './clients/Diary';
import { createRandom } from './clients/Exchange';
import { NOISE } from './clients/noise';
import { READS } from './clients/reads';
import { keepAsking, keepBusy, tableOf } from './load';
import type { LoadServer, NewClient } from './LoadServer';
import type { LoadTenant } from './LoadTenant';
import type { Size } from './sizes';

const ALONE = 'alone';
const BESIDE = 'beside a noisy one';

/** What the quiet tenants felt. */
export interface NoisyResult {
  comparison: Comparison;
  figures: FigureTable[];
  /** What was wrong with the answers; that there was too much to do is not. */
  failures: string[];
}

/**
 * Tenants that read with one client each: alone, and beside one that asks for the
 * heaviest with many.
 */
export async function compareWithNoise(options: {
  server: LoadServer;
  quiet: LoadTenant[];
  noisy: LoadTenant;
  size: Size['noisy'];
  settings: Settings;
}): Promise<NoisyResult> {
  const { server, quiet, noisy, size, settings } = options;
  const quietOnes = server.createClients(
    quiet.map((tenant, index) => clientOf(tenant, index, READS)),
  );
  const noisyOnes = server.createClients(
    Array.from({ length: size.clients }, (_, index) =>
      clientOf(noisy, index, NOISE),
    ),
  );

  const noise = new Diary();
  const beside = createContestant(BESIDE, seconds =>
    besideNoise(noisyOnes, noise, () => keepBusy(quietOnes, seconds)),
  );
  const alone = createContestant(ALONE, seconds =>
    keepBusy(quietOnes, seconds),
  );
  const [besideRounds, aloneRounds] = await measureInTurn([beside, alone], {
    rounds: settings.rounds,
    seconds: settings.seconds * size.seconds,
  });

  return {
    comparison: compare({
      what: `reads of ${quiet.length} quiet tenants`,
      ours: {
        name: `${BESIDE}, ${size.clients} clients`,
        rounds: besideRounds,
      },
      alternative: { name: ALONE, rounds: aloneRounds },
    }),
    figures: [
      tableOf(`Quiet tenants, ${ALONE}`, alone.diary),
      tableOf(`Quiet tenants, ${BESIDE}`, beside.diary),
      tableOf(`The noisy one, warm-up included`, noise),
    ],
    failures: [beside.diary, alone.diary, noise].flatMap(
      ({ failures }) => failures,
    ),
  };
}

function clientOf(
  tenant: LoadTenant,
  index: number,
  tasks: NewClient['tasks'],
): NewClient {
  return {
    caller: index % 2 === 0 ? 'user' : 'service',
    naming: 'header',
    tenant,
    tasks,
    random: createRandom(index),
  };
}

/** Something to measure that keeps a diary of all rounds, but not of the warm-up. */
function createContestant(
  name: string,
  run: (seconds: number) => Promise<Diary>,
): Contestant & { diary: Diary } {
  const diary = new Diary();
  let warm = false;
  return {
    name,
    diary,
    async measure(seconds) {
      const round = await run(seconds);
      if (warm) {
        diary.add(round);
      }
      warm = true;
      return round.measurement();
    },
  };
}

/** Lets the noise begin, and end once something is done. */
async function besideNoise<T>(
  clients: Client[],
  diary: Diary,
  action: () => Promise<T>,
): Promise<T> {
  let over = false;
  const noise = keepAsking(clients, () => over);
  try {
    return await action();
  } finally {
    over = true;
    diary.add(await noise);
  }
}
