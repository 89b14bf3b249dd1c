import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import type { PoolStats } from '../work/SessionPool';
import type { HeldEngine, Observations } from './EngineStatusRecorder';

/** The lag above which a tenant counts as lagging, in milliseconds. */
const LAGGING_MS = 10 * 60_000;

const STATES = [
  'starting',
  'running',
  'asleep',
  'failed',
  'stopped',
  'paused',
] as const;

interface Sources {
  observe: () => Observations;
  pool: () => Pick<PoolStats, 'idle' | 'max' | 'used' | 'waiting'>;
  /** How long this process stood still at most, since the last call, in milliseconds. */
  longestHoldMs: () => number;
}

/**
 * Reports the metrics of the engines. No metric has an attribute for the tenant, so the number
 * of time series does not grow with the number of tenants. Collecting a metric does not query
 * the database.
 *
 * Units are in the names: exporters differ in whether they append them.
 */
export function reportEngines(metrics: MetricsService, sources: Sources): void {
  const gauge = (
    name: string,
    description: string,
    values: (
      of: Observations,
    ) => Iterable<[value: number | undefined, state?: string]>,
  ) =>
    metrics
      .createObservableGauge(`tenancy.engines.${name}`, { description })
      .addCallback(result => {
        for (const [value, state] of values(sources.observe())) {
          if (value !== undefined) {
            result.observe(value, state === undefined ? {} : { state });
          }
        }
      });

  // Of this process alone: add them up.
  gauge(
    'count',
    'Engines whose background work this process does, by state',
    ({ engines }) =>
      Object.entries(countStates(engines)).map(([state, count]) => [
        count,
        state,
      ]),
  );
  gauge(
    'lagging',
    'Tenants of this process of which an item is due for more than 10 minutes',
    ({ lagsMs }) => [
      [[...lagsMs.values()].filter(lag => lag > LAGGING_MS).length],
    ],
  );
  gauge(
    'pool.sessions',
    "Sessions of the engines' pool of this process, by state",
    () => [
      [sources.pool().used, 'used'],
      [sources.pool().idle, 'idle'],
    ],
  );
  gauge(
    'pool.waiting',
    "What waits for a session of the engines' pool of this process",
    () => [[sources.pool().waiting]],
  );
  gauge(
    'pool.max',
    "How many sessions the engines' pool of this process may have",
    () => [[sources.pool().max]],
  );
  gauge(
    'lag.seconds',
    'For how many seconds the oldest item of any tenant of this process is due',
    ({ lagsMs }) => [[Math.max(0, ...lagsMs.values()) / 1_000]],
  );

  metrics
    .createObservableGauge('tenancy.event_loop.longest_hold.seconds', {
      description:
        'For how many seconds this process stood still at most, since it was asked last',
    })
    .addCallback(result => result.observe(sources.longestHoldMs() / 1_000));

  // Of the deployment, the same in each process but for the moment: take the highest.
  gauge(
    'processes',
    'Live processes of the deployment that do background work of tenants',
    ({ deployment }) => [[deployment?.processes]],
  );
  gauge(
    'unassigned',
    'Tenants of the deployment whose background work no live process does',
    ({ deployment }) => [[deployment?.unassigned]],
  );
  gauge(
    'faults',
    'Rows that could not be carried to the entities of tenants',
    ({ deployment }) => [[deployment?.faults]],
  );
  gauge(
    'server.sessions',
    'Client sessions of the PostgreSQL server of the catalog',
    ({ deployment }) => [[deployment?.sessions]],
  );
  gauge(
    'server.sessions.max',
    'How many sessions that server has room for (max_connections)',
    ({ deployment }) => [[deployment?.maxSessions]],
  );
}

/** How many engines are in each state. */
export function countStates(engines: HeldEngine[]): Record<string, number> {
  return Object.fromEntries(
    STATES.map(state => [
      state,
      engines.filter(engine => stateOf(engine) === state).length,
    ]),
  );
}

/** Counts failures of engines: failed starts, and engines that had to stop. */
export function countFailures(metrics: MetricsService): () => void {
  const counter = metrics.createCounter('tenancy.engines.failures.count', {
    description: 'Starts of engines that failed, and engines that broke down',
  });
  return () => counter.add(1);
}

function stateOf({
  isAsleep,
  isPaused,
  state,
}: HeldEngine): (typeof STATES)[number] {
  if (isPaused) {
    return 'paused';
  }
  return isAsleep ? 'asleep' : state;
}
