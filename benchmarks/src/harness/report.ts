import Table from 'cli-table3';
import type { BenchmarkResult, Settings } from './Benchmark';
import type { Comparison, Side } from './comparison';
import type { Machine } from './machine';
import type { Spread } from './statistics';

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
  const { rounds, seconds, concurrency, short } = settings;
  return [
    `${machine.date}, Node.js ${machine.node}, ${machine.platform}, ` +
      `${machine.cores} × ${machine.cpu}, load ${machine.loadAverage}`,
    `${rounds} rounds of ${seconds} s, ${concurrency} requests at a time` +
      `${short ? ', little data: no result to rely on' : ''}`,
    ...Object.entries(results).flatMap(([name, { comparisons, notes }]) => [
      '',
      `${name}`,
      toTable(comparisons),
      ...notes,
    ]),
    '',
  ].join('\n');
}

function toTable(comparisons: Comparison[]): string {
  const table = new Table({
    head: [
      'what',
      'ours',
      'req/s',
      'p50/p99 ms',
      'alternative',
      'req/s',
      'p50/p99 ms',
      'ratio',
      'min–max',
      'target',
      '',
    ],
    // Plain, so that it can be copied into a README.
    style: { head: [], border: [], compact: true },
  });
  for (const { what, ours, alternative, ratio, target, met } of comparisons) {
    table.push([
      what,
      ...sideCells(ours),
      ...sideCells(alternative),
      `${ratio.median.toFixed(2)}×`,
      `${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)}`,
      target === undefined ? '' : `≥ ${target}×`,
      verdict(met),
    ]);
  }
  return table.toString();
}

function sideCells({ name, requestsPerSecond, p50, p99 }: Side): string[] {
  const ms = (spread: Spread) => spread.median.toFixed(1);
  return [name, requestsPerSecond.median.toFixed(0), `${ms(p50)} / ${ms(p99)}`];
}

function verdict(met: boolean | undefined): string {
  if (met === undefined) {
    return '';
  }
  return met ? 'met' : 'MISSED';
}
