import Table from 'cli-table3';
import { cpus, loadavg, totalmem } from 'node:os';
import type { BenchmarkResult, FigureTable, Settings } from './Benchmark';
import type { Comparison, Side, Spread } from './comparison';
import type { Duration, Waits } from './waits';

/** All that a run found out, and under which circumstances. */
export interface Report {
  machine: Machine;
  settings: Settings;
  /** The results by the name of the benchmark. */
  results: Record<string, BenchmarkResult>;
}

/** Shows a report with every single measurement, for programs. */
export function toJson(report: Report): string {
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

/** Shows a report as tables, for people. */
export function toText({ machine, settings, results }: Report): string {
  const { rttMs } = settings;
  return [
    `${machine.date}, Node.js ${machine.node}, ${machine.platform}, ` +
      `${machine.cores} × ${machine.cpu}, load ${machine.loadAverage}`,
    ...(settings.short ? ['Little data: no result to rely on'] : []),
    ...(rttMs > 0
      ? [`A simulated round-trip time to the database of ${rttMs} ms or more`]
      : []),
    ...Object.entries(results).flatMap(([name, result]) => [
      '',
      `${name}`,
      ...describe(result),
    ]),
    // One would stand below itself.
    ...(Object.keys(results).length > 1
      ? ['', 'All of it', summaryTable(results)]
      : []),
    '',
  ].join('\n');
}

function describe(result: BenchmarkResult): string[] {
  const { comparisons, waits = [], durations = [], figures = [] } = result;
  const units = [...new Set(comparisons.map(({ unit }) => unit))];
  return [
    result.circumstances,
    ...units.map(unit =>
      comparisonTable(
        unit,
        comparisons.filter(comparison => comparison.unit === unit),
      ),
    ),
    ...(waits.length > 0 ? [waitTable(waits)] : []),
    ...(durations.length > 0 ? [durationTable(durations)] : []),
    ...figures.map(figureTable),
    ...result.notes,
    ...(result.failures ?? []),
  ];
}

const LATENCY = 'p50/p99 ms';

/** Comparisons of what is counted in one unit. */
function comparisonTable(
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
function summaryTable(results: Record<string, BenchmarkResult>): string {
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
function waitTable(waits: Waits[]): string {
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
function durationTable(durations: Duration[]): string {
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
function figureTable({ title, head, rows }: FigureTable): string {
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

/** What the figures depend on beside the code. */
interface Machine {
  date: string;
  node: string;
  platform: string;
  cpu: string;
  cores: number;
  memoryGiB: number;
  /** How busy the machine was when the run began. */
  loadAverage: number;
}

/** Describes this machine. */
export function describeMachine(): Machine {
  const cores = cpus();
  return {
    date: new Date().toISOString(),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    cpu: cores[0]?.model ?? 'unknown',
    cores: cores.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    loadAverage: loadavg()[0],
  };
}
