import type { BenchmarkResult, Settings } from './Benchmark';
import type { Machine } from './machine';
import {
  comparisonTable,
  durationTable,
  figureTable,
  summaryTable,
  waitTable,
} from './tables';

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
