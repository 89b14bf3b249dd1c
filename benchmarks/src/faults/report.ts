import type { FigureTable } from '../harness/Benchmark';
import { formatSeconds } from '../harness/tables';
import type { FaultFigures } from './measureFault';

const MEGABYTE = 1_000_000;

/** What clients felt. */
export function clientTable(figures: FaultFigures[]): FigureTable {
  return {
    title: 'What clients felt',
    head: [
      ...['fault', 'requests', 'answered', 'refused', 'wrong'],
      ...['longest time without an answer', 'first answer after it'],
      'all clients answered',
    ],
    rows: figures.map(({ what, tally, recovery }) => [
      ...[what, tally.requests, tally.answered, refusals(tally.refused)],
      ...[tally.failures.length, time(tally.longestGap)],
      ...[time(recovery.first), time(recovery.all)],
    ]),
  };
}

/** What was left behind. */
export function remainsTable(figures: FaultFigures[]): FigureTable {
  return {
    title:
      'What it left behind: connections to the tables of tenants, and memory',
    head: [
      ...['fault', 'connections before', 'after', 'of them busy'],
      ...['heap before', 'after', 'RSS before', 'after'],
    ],
    rows: figures.map(({ what, connections, memory }) => [
      ...[what, connections.before.open],
      ...[connections.after.open, connections.after.busy],
      ...[megabytes(memory.before.heap), megabytes(memory.after.heap)],
      ...[megabytes(memory.before.rss), megabytes(memory.after.rss)],
    ]),
  };
}

function refusals(refused: Map<number, number>): string {
  const counts = [...refused].map(([status, count]) => `${count} × ${status}`);
  return counts.join(', ') || '0';
}

function time(ms: number | undefined): string {
  return ms === undefined ? 'never' : formatSeconds(ms / 1000);
}

function megabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(0)} MB`;
}
