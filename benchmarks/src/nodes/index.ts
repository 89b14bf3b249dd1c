import { CITUS_VARIABLE, citusCoordinator } from '@internal/postgres/citus';
import { isDeepStrictEqual } from 'node:util';
import type {
  Benchmark,
  BenchmarkContext,
  BenchmarkResult,
} from '../harness/Benchmark';
import {
  compare,
  type Comparison,
  type Contestant,
  measureInTurn,
} from '../harness/comparison';
import type { Work } from '../adoption/StitchingEngine';
import { keepBusy } from '../harness/load';
import {
  ENTITIES_OF_ENGINE,
  ENTITIES_OF_OTHERS,
  Side,
  type Size,
} from './Side';

const FULL: Size = { tenants: 50, entities: 2_000, rttMs: [0, 0.5, 1] };
const SHORT: Size = { tenants: 3, entities: 200, rttMs: [0, 0.5] };

/** How many entities the larger mutation changes. */
const CHANGED = 200;

interface Operation {
  /** Asks for something, by turns something else, and returns what both sides have to answer. */
  ask(side: Side, turn: number): Promise<unknown>;
  /** How many callers there are at a time; 1 by default. */
  lanes?: number;
}

const OPERATIONS: Record<string, Operation> = {
  'one entity': { ask: readOne },
  'one entity, 8 callers': { ask: readOne, lanes: 8 },
  '20 refs': {
    ask: async ({ refs, store, tenantId }, turn) => {
      const first = (turn * 20) % (refs.length - 20);
      const wanted = refs.slice(first, first + 20);
      const found = await store.getEntitiesByRefs(tenantId, wanted);
      return found.map(entity => entity?.metadata.name);
    },
  },
  'a page and its count': {
    ask: async ({ store, tenantId }, turn) => {
      const page = await store.readPage(tenantId, {
        filter: { kind: 'component' },
        order: { field: 'metadata.name', order: 'asc' },
        limit: 20,
        offset: turn % 20,
        total: true,
      });
      return [page.totalItems, page.rows.map(({ value }) => value)];
    },
  },
  'a page of an owner': {
    ask: async ({ owners, store, tenantId }, turn) => {
      const page = await store.readPage(tenantId, {
        filter: { 'spec.owner': owners[turn % owners.length] },
        order: { field: 'metadata.name', order: 'asc' },
        limit: 20,
      });
      return page.rows.map(({ value }) => value);
    },
  },
  facets: {
    ask: ({ store, tenantId }, turn) =>
      store.countFacets(tenantId, {
        facets: ['spec.type'],
        filter: { 'spec.lifecycle': ['production', 'experimental'][turn % 2] },
      }),
  },
  ancestry: {
    ask: async ({ refs, store, tenantId }, turn) => {
      const found = await store.getAncestry(tenantId, refs[turn % refs.length]);
      return found?.items.length;
    },
  },
  'a mutation of one entity': {
    ask: (side, turn) => side.change(1, turn),
  },
  [`a mutation of ${CHANGED} entities`]: {
    ask: (side, turn) => side.change(CHANGED, turn),
  },
};

/** What the engine of the default tenant is busy with, whose tables stay on the coordinator. */
const ENGINE_WORKS: Partial<Record<Work, string>> = {
  change: 'an engine: process and stitch what has changed',
  life: 'an engine: add, process, stitch and remove',
};

async function readOne({ refs, store, tenantId }: Side, turn: number) {
  const entity = await store.getEntity(tenantId, refs[turn % refs.length]);
  return entity?.metadata.name;
}

/** Tables of tenants on the nodes of Citus, against the same tables on one of its servers. */
export const nodesBenchmark: Benchmark = {
  name: 'nodes',
  rounds: { full: 5, short: 1 },
  run,
};

async function run(context: BenchmarkContext): Promise<BenchmarkResult> {
  if (!citusCoordinator()) {
    return {
      circumstances: `left out: ${CITUS_VARIABLE} names no coordinator of a cluster`,
      comparisons: [],
      notes: [],
    };
  }
  const { progress, settings } = context;
  const size = settings.short ? SHORT : FULL;
  const comparisons: Comparison[] = [];
  let servers = '';
  progress(`one server: ${size.tenants} tenants`);
  const plain = await Side.create('one server', size);
  try {
    for (const rttMs of size.rttMs) {
      const away = `nodes ${rttMs} ms away`;
      progress(`${away}: ${size.tenants} tenants`);
      const nodes = await Side.create('Citus', size, rttMs);
      try {
        servers = await nodes.describeServers();
        comparisons.push(...(await compareSides(context, plain, nodes, away)));
      } finally {
        await nodes.remove();
      }
    }
    return {
      circumstances:
        `${settings.rounds} rounds of ${settings.seconds} s, one request at a time. ` +
        `${size.tenants} tenants with ${ENTITIES_OF_OTHERS} entities each, and the one that is ` +
        `measured with ${size.entities}; an engine with ${ENTITIES_OF_ENGINE}. ${servers}`,
      comparisons,
      notes: [],
    };
  } finally {
    await plain.remove();
  }
}

async function compareSides(
  { progress, settings }: BenchmarkContext,
  plain: Side,
  nodes: Side,
  away: string,
): Promise<Comparison[]> {
  const compareIn = async (
    measure: (side: Side) => Contestant['measure'],
    { what, unit }: Pick<Comparison, 'what' | 'unit'>,
  ) => {
    const [alternative, ours] = await measureInTurn(
      [plain, nodes].map(side => ({ name: side.name, measure: measure(side) })),
      settings,
    );
    return compare({
      what: `${away}: ${what}`,
      unit,
      ours: { name: nodes.name, rounds: ours },
      alternative: { name: plain.name, rounds: alternative },
    });
  };
  const comparisons: Comparison[] = [];
  for (const [what, { ask, lanes = 1 }] of Object.entries(OPERATIONS)) {
    progress(`${away}: ${what}`);
    const [expected, answer] = [await ask(plain, 0), await ask(nodes, 0)];
    if (!isDeepStrictEqual(answer, expected)) {
      throw new Error(`The two sides answer "${what}" differently`);
    }
    const busy = (side: Side): Contestant['measure'] => {
      let turn = 0;
      return seconds =>
        keepBusy(lanes, seconds, async () => {
          turn += 1;
          await ask(side, turn);
        });
    };
    comparisons.push(await compareIn(busy, { what, unit: 'req' }));
  }
  for (const [work, what] of Object.entries(ENGINE_WORKS)) {
    progress(`${away}: ${what}`);
    const engine = (side: Side): Contestant['measure'] => {
      return seconds => side.engine.measure(work as Work, seconds);
    };
    comparisons.push(await compareIn(engine, { what, unit: 'entities' }));
  }
  return comparisons;
}
