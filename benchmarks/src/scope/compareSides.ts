import type { BenchmarkContext } from '../harness/Benchmark';
import {
  compare,
  type Comparison,
  type Measurement,
} from '../harness/comparison';
import { measureInTurn } from '../harness/rounds';
import { askOne, assertSameAnswers } from './answers';
import { Asker } from './Asker';
import {
  type Arena,
  type Contestant,
  type Contestants,
  listContestants,
  openContestants,
} from './contestants';
import { LAYOUT_NAMES, LAYOUTS } from './layouts';
import {
  createQuestions,
  type Operation,
  OPERATIONS,
  type Question,
} from './questions';
import { countOf, type Size } from './sizes';

/** Growth from 10 to 1,000 tenants: at most 1.3 times the time (design). */
const GROWTH_TARGET = 0.77;

/** What is measured where. */
export interface Situation extends Arena {
  /** What to say of it beyond numbers of tenants and connections. */
  suffix?: string;
  /** Of `getEntity`; against the transaction, where tenants have partitions. */
  targets: { bare?: number; transaction?: number };
}

/** Measures all sides, in all layouts. */
export async function compareSides(
  context: BenchmarkContext,
  size: Size,
  situation: Situation,
): Promise<Comparison[]> {
  const contestants = openContestants(situation);
  const all = listContestants(contestants);
  try {
    const comparisons: Comparison[] = [];
    for (const operation of OPERATIONS) {
      context.progress(describe(operation, situation));
      await assertSameAnswers(
        all
          .filter(({ tenants }) => tenants === situation.tenants)
          .map(({ side }) => side),
        { operation, size, tenants: situation.tenants },
      );
      const rounds = await measure(context, size, operation, {
        contestants: all,
        connections: situation.connections,
      });
      comparisons.push(
        ...toComparisons(operation, situation, contestants, rounds),
      );
    }
    return comparisons;
  } finally {
    await Promise.all(all.map(({ side }) => side.close()));
  }
}

async function measure(
  { settings }: BenchmarkContext,
  size: Size,
  operation: Operation,
  options: { contestants: Contestant[]; connections: number },
): Promise<Map<Contestant, Measurement[]>> {
  const { contestants, connections } = options;
  const known = new Map<number, Question[]>();
  const questionsOf = (tenants: number) => {
    const questions = known.get(tenants) ?? createQuestions(tenants, size);
    known.set(tenants, questions);
    return questions;
  };
  const askers = contestants.map(({ side, tenants }) => {
    const questions = questionsOf(tenants);
    return new Asker(
      number =>
        askOne(side, operation, questions[number % questions.length], size),
      connections,
    );
  });
  for (const [index, { warmUp, tenants }] of contestants.entries()) {
    if (warmUp) {
      await askers[index].times(tenants * connections);
    }
  }
  const measurements = await measureInTurn(
    contestants.map(({ side }, index) => ({
      name: side.name,
      measure: seconds => askers[index].forSeconds(seconds),
    })),
    { ...settings, seconds: size.secondsOf(settings.seconds) },
  );
  return new Map(
    contestants.map((contestant, index) => [contestant, measurements[index]]),
  );
}

function toComparisons(
  operation: Operation,
  situation: Situation,
  { bare, layouts }: Contestants,
  rounds: Map<Contestant, Measurement[]>,
): Comparison[] {
  const targets = operation === 'getEntity' ? situation.targets : {};
  const sideOf = (contestant: Contestant, name = contestant.side.name) => ({
    name,
    rounds: rounds.get(contestant) ?? [],
  });
  return LAYOUTS.flatMap(layout => {
    const { ours, transaction, policyAlone, before } = layouts[layout];
    const what = `${describe(operation, situation)}, ${LAYOUT_NAMES[layout]}`;
    const target = layout === 'partitions' ? targets.transaction : undefined;
    return [
      compare({
        ...{ what, target: targets.bare },
        ...{ ours: sideOf(ours), alternative: sideOf(bare) },
      }),
      compare({
        ...{ what, target },
        ...{ ours: sideOf(ours), alternative: sideOf(transaction) },
      }),
      compare({
        what,
        ...{ ours: sideOf(ours), alternative: sideOf(policyAlone) },
      }),
      ...(before
        ? [
            compare({
              what: `${operation}, growth, ${LAYOUT_NAMES[layout]}`,
              ours: sideOf(ours, `of ${countOf(ours.tenants)}`),
              alternative: sideOf(before, `of ${countOf(before.tenants)}`),
              target: GROWTH_TARGET,
            }),
          ]
        : []),
    ];
  });
}

function describe(
  operation: Operation,
  { tenants, connections, suffix = '' }: Situation,
): string {
  const many = connections > 1 ? `, ${connections} connections` : '';
  return `${operation}, ${countOf(tenants)}${many}${suffix}`;
}
