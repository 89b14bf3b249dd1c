import Table from 'cli-table3';
import type { BenchmarkResult, FigureTable } from './Benchmark';
import type { Comparison, Side } from './comparison';
import type { Spread } from './statistics';
import type { Duration, Waits } from './waits';

const LATENCY = 'p50/p99 ms';

/** Comparisons of what is counted in one unit. */
export function comparisonTable(
  unit: Comparison['unit'],
  comparisons: Comparison[],
): string {
  const hasLatency = comparisons.some(({ ours }) => ours.p50 !== undefined);
  const latency = hasLatency ? [LATENCY] : [];
  const cells = (side: Side) => [
    side.name,
    side.perSecond.median.toFixed(0),
    ...(hasLatency ? [latencyOf(side)] : []),
  ];
  return render(
    [
      ...['what', 'ours', `${unit}/s`, ...latency],
      ...['alternative', `${unit}/s`, ...latency],
      ...['ratio', 'min–max', ...(hasLatency ? ['p50 ratio'] : [])],
      ...['target', ''],
    ],
    comparisons.map(comparison => [
      comparison.what,
      ...cells(comparison.ours),
      ...cells(comparison.alternative),
      ...ratioCells(comparison),
      ...(hasLatency ? [times(comparison.latencyRatio)] : []),
      ...targetCells(comparison),
    ]),
  );
}

/** Everything that was compared, or judged by how long it kept others waiting. */
export function summaryTable(results: Record<string, BenchmarkResult>): string {
  const rows = Object.entries(results).flatMap(([name, result]) => [
    ...result.comparisons.map(comparison => [
      name,
      comparison.what,
      sideCell(comparison.ours, comparison.unit),
      sideCell(comparison.alternative, comparison.unit),
      ...ratioCells(comparison),
      ...targetCells(comparison),
    ]),
    ...(result.waits ?? [])
      .filter(({ target }) => target !== undefined)
      .map(({ what, p99, target, met }) => [
        ...[name, what, `p99 ${p99.toFixed(1)} ms`, '', '', ''],
        ...[`≤ ${target} ms`, verdict(met)],
      ]),
  ]);
  return render(
    [
      ...['benchmark', 'what', 'ours', 'alternative'],
      ...['ratio', 'min–max', 'target', ''],
    ],
    rows,
  );
}

function sideCell(side: Side, unit: Comparison['unit']): string {
  return `${side.name}: ${side.perSecond.median.toFixed(0)} ${unit}/s`;
}

function ratioCells({ ratio }: Comparison): string[] {
  return [times(ratio), `${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)}`];
}

function targetCells({ target, met }: Comparison): string[] {
  return [
    target === undefined ? '' : `≥ ${Number(target.toFixed(2))}×`,
    verdict(met),
  ];
}

function times(spread?: Spread): string {
  return spread ? `${spread.median.toFixed(2)}×` : '';
}

/** How long something kept others waiting. */
export function waitTable(waits: Waits[]): string {
  return render(
    [
      'who waited',
      'count',
      'p50 ms',
      'p99 ms',
      'longest',
      'failed',
      'target',
      '',
    ],
    waits.map(({ what, count, p50, p99, p100, failed, target, met }) => [
      what,
      String(count),
      ...[p50, p99, p100].map(ms => ms.toFixed(1)),
      String(failed),
      target === undefined ? '' : `p99 ≤ ${target} ms, none failed`,
      verdict(met),
    ]),
  );
}

/** How long something took. */
export function durationTable(durations: Duration[]): string {
  return render(
    ['what', 'took', 'specification'],
    durations.map(({ what, seconds, expected }) => [
      what,
      formatSeconds(seconds),
      expected,
    ]),
  );
}

/** Figures that are not compared with anything, below their title. */
export function figureTable({ title, head, rows }: FigureTable): string {
  return `${title}\n${render(
    head,
    rows.map(row => row.map(String)),
  )}`;
}

/** Seconds, or what is easier to read where there are few or many of them. */
export function formatSeconds(seconds: number): string {
  if (seconds < 1) {
    return `${(seconds * 1000).toFixed(0)} ms`;
  }
  return seconds < 100
    ? `${seconds.toFixed(1)} s`
    : `${(seconds / 60).toFixed(1)} min`;
}

function render(head: string[], rows: string[][]): string {
  const table = new Table({
    head,
    // Plain, so that it can be copied into a README.
    style: { head: [], border: [], compact: true },
  });
  table.push(...rows);
  return table.toString();
}

function latencyOf({ p50, p99 }: Side): string {
  const ms = (spread?: Spread) => spread?.median.toFixed(1) ?? '–';
  return `${ms(p50)} / ${ms(p99)}`;
}

function verdict(met: boolean | undefined): string {
  if (met === undefined) {
    return '';
  }
  return met ? 'met' : 'MISSED';
}
