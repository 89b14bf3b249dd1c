import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import {
  compare,
  type Contestant,
  type Measurement,
  measureInTurn,
} from '../harness/comparison';
import { QUIET_SETTINGS } from '../harness/database';
import { type ServerProcess, startInTurn } from '../harness/servers';
import type { Provision } from './backend';
import { addTenant, send, startServer, untilServed } from './servers';

interface Size {
  /** How many entities all tenants at work have together; the stock engine has as many. */
  entities: number;
  /** How many tenants are at work, in turn. Each time, they are other ones. */
  atWork: number[];
}

const FULL: Size = { entities: 500, atWork: [1, 10, 50] };
const SHORT: Size = { entities: 12, atWork: [1, 2] };

/** The engines of several tenants, beside one stock engine on the same entities. */
export const enginesBenchmark: Benchmark = {
  name: 'engines',
  rounds: { full: 5, short: 1 },
  serverSettings: () => ({ ...QUIET_SETTINGS, max_connections: '200' }),
  run,
};

/** Entities that are split among the tenants at work, or are all the stock engine's. */
class Ingestion implements Contestant {
  readonly name: string;
  /** Entities per second, when all of them are new. */
  firstPerSecond?: number;
  readonly #length: number;
  #revision = 0;

  constructor(
    private readonly server: ServerProcess,
    private readonly tenants: Array<string | undefined>,
    entities: number,
  ) {
    const count = tenants.length;
    const ours = `${count} tenant${count > 1 ? 's' : ''}`;
    this.name = tenants[0] ? ours : 'one stock engine';
    this.#length = Math.floor(entities / count);
  }

  /** From the full mutation of each provider to the last entity that is served. */
  async measure(): Promise<Measurement> {
    const { server, tenants } = this;
    const length = this.#length;
    this.#revision += 1;
    const revision = this.#revision;
    const start = performance.now();
    await Promise.all(
      tenants.map((tenant, index) => {
        const body: Provision = { first: index * length, length, revision };
        return send(server, 'POST', 'catalog/benchmark', { tenant, body });
      }),
    );
    // One after the other: to ask all of them all the time would be most of the work.
    for (const tenant of tenants) {
      await untilServed(server, { length, revision }, tenant);
    }
    const count = length * tenants.length;
    const perSecond = (count * 1000) / (performance.now() - start);
    this.firstPerSecond ??= perSecond;
    return { count, perSecond };
  }
}

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  const { progress, settings } = context;
  const { atWork, entities } = settings.short ? SHORT : FULL;
  progress('creating the catalogs, and starting the backends');
  const servers = await startInTurn([
    () => startServer(context, 'engines_stock', false),
    () => startServer(context, 'engines_ours', true),
  ]);
  const [stock, ours] = servers;
  try {
    await untilServed(stock, { length: 1, revision: 0 });
    const works = [new Ingestion(stock, [undefined], entities)];
    for (const count of atWork) {
      progress(`creating ${count} tenants`);
      const tenants = Array.from(
        { length: count },
        (_, index) => `tenant-${index}-of-${count}`,
      );
      await Promise.all(tenants.map(tenant => addTenant(ours, tenant)));
      works.push(new Ingestion(ours, tenants, entities));
    }
    progress(`${works.map(({ name }) => name).join(', ')} at work in turn`);
    const [alternative, ...engines] = await measureInTurn(works, settings);
    const what = `change ${entities} entities`;
    return {
      circumstances: `${settings.rounds} rounds of ${entities} entities`,
      comparisons: engines.map(each =>
        compare({ what, unit: 'entities', ours: each, alternative }),
      ),
      notes: works.map(
        ({ name, firstPerSecond = 0 }) =>
          `The first time, when all entities are new, ${name}: ${firstPerSecond.toFixed(
            1,
          )} entities/s`,
      ),
    };
  } finally {
    await Promise.all(servers.map(server => server.stop()));
  }
}
