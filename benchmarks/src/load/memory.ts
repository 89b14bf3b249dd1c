import type { FigureTable } from '../harness/Benchmark';
import type { Memory } from './servers/settings';

const MEBIBYTE = 2 ** 20;

/** What the backend took at some moments, all garbage collected. */
export function memoryTable(
  moments: Array<{ when: string; memory: Memory }>,
): FigureTable {
  return {
    title: 'Memory of the backend, after a garbage collection',
    head: ['when', 'RSS MiB', 'heap MiB', 'outside of it MiB'],
    rows: moments.map(({ when, memory: { rss, heap, external } }) => [
      when,
      ...[rss, heap, external].map(bytes => (bytes / MEBIBYTE).toFixed(1)),
    ]),
  };
}
