import Table from 'cli-table3';
import { cpus, loadavg, totalmem } from 'node:os';
import type { BenchmarkResult, FigureTable, Settings } from './Benchmark';
import type { Comparison, Side, Spread } from './comparison';

/** The results of a run, and its circumstances. */
export interface Report {
  machine: ReturnType<typeof describeMachine>;
  settings: Omit<Settings, 'rounds'>;
  /** By the name of the benchmark. */
  results: Record<string, BenchmarkResult>;
}

/** A report with every single measurement, for programs. */
export function toJson(report: Report): string {
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

/** A report as tables, for people. */
export function toText({ machine, settings, results }: Report): string {
  return [
    `${machine.date}, Node.js ${machine.node}, ${machine.platform}, ` +
      `${machine.cores} × ${machine.cpu}, load ${machine.loadAverage}`,
    ...(settings.short ? ['Little data: no result to rely on'] : []),
    ...Object.entries(results).flatMap(([name, result]) => [
      '',
      name,
      ...describe(result),
    ]),
    '',
  ].join('\n');
}

function describe(result: BenchmarkResult): string[] {
  const units = new Set(result.comparisons.map(({ unit }) => unit));
  return [
    result.circumstances,
    ...Array.from(units, unit =>
      comparisonTable(
        unit,
        result.comparisons.filter(comparison => comparison.unit === unit),
      ),
    ),
    ...(result.figures ?? []).map(figureTable),
    ...result.notes,
    ...(result.failures ?? []),
  ];
}

/** Comparisons of what is counted in one unit. */
function comparisonTable(
  unit: Comparison['unit'],
  comparisons: Comparison[],
): string {
  const hasLatency = comparisons.some(({ ours }) => ours.p50 !== undefined);
  const sideHead = [`${unit}/s`, ...(hasLatency ? ['p50/p99 ms'] : [])];
  const sideCells = (side: Side) => [
    side.name,
    side.perSecond.median.toFixed(0),
    ...(hasLatency ? [`${ms(side.p50)} / ${ms(side.p99)}`] : []),
  ];
  return render(
    [
      ...['what', 'ours', ...sideHead, 'alternative', ...sideHead],
      ...['ratio', 'min–max', 'target', ''],
    ],
    comparisons.map(({ what, ours, alternative, ratio, target, met }) => [
      ...[what, ...sideCells(ours), ...sideCells(alternative)],
      `${ratio.median.toFixed(2)}×`,
      `${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)}`,
      target === undefined ? '' : `≥ ${target}×`,
      verdictOf(met),
    ]),
  );
}

function figureTable({ title, head, rows }: FigureTable): string {
  return `${title}\n${render(
    head,
    rows.map(row => row.map(String)),
  )}`;
}

function render(head: string[], rows: string[][]): string {
  // Plain, so that it can be copied into a document.
  const style = { head: [], border: [], compact: true };
  const table = new Table({ head, style });
  table.push(...rows);
  return table.toString();
}

function ms(spread?: Spread): string {
  return spread?.median.toFixed(1) ?? '–';
}

/** Whether a target is met, if there is one. */
export function verdictOf(met: boolean | undefined): string {
  if (met === undefined) {
    return '';
  }
  return met ? 'met' : 'MISSED';
}

/** What the figures depend on beside the code. */
export function describeMachine() {
  const cores = cpus();
  return {
    date: new Date().toISOString(),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    cpu: cores[0]?.model ?? 'unknown',
    cores: cores.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    /** How busy the machine was when the run began. */
    loadAverage: loadavg()[0],
  };
}
