/**
 * What runs all of a list, or a sample of it: the mutation checks.
 *
 * @packageDocumentation
 */

import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { ParseArgsConfig } from 'node:util';

/**
 * What a command line selects.
 *
 * @public
 */
export interface Selection<T> {
  /** Those whose names contain all words of the command line. */
  selected: T[];
  /** Run only so many of them. */
  sample?: number;
  /** Chooses the sample; the date by default. */
  seed: string;
  /** The file that gets the counts. */
  report?: string;
  /** The command's own options. */
  values: Record<string, string | string[] | undefined>;
}

/**
 * Parses `[--sample <n>] [--seed <text>] [--report <file>] [words]`.
 *
 * @param what - an element of the list, for the message
 * @throws Error for the operator, which names the bad argument
 * @public
 */
export function parseSelection<T extends { name: string }>(
  args: string[],
  list: readonly T[],
  what: string,
  options: NonNullable<ParseArgsConfig['options']> = {},
): Selection<T> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...options,
      sample: { type: 'string' },
      seed: { type: 'string' },
      report: { type: 'string' },
    },
  });
  const { sample, seed, report, ...rest } = values as Selection<T>['values'];
  const selected = list.filter(({ name }) =>
    positionals.every(word => name.includes(word)),
  );
  if (selected.length === 0) {
    const names = list.map(({ name }) => `  ${name}`).join('\n');
    throw new Error(
      `No ${what} is called "${positionals.join(
        ' ',
      )}". Expected one of\n${names}`,
    );
  }
  if (sample !== undefined && !/^[1-9]\d*$/.test(String(sample))) {
    throw new Error(
      `--sample is "${sample}", expected a whole number of 1 or more`,
    );
  }
  return {
    selected,
    sample: sample === undefined ? undefined : Number(sample),
    seed:
      seed === undefined ? new Date().toISOString().slice(0, 10) : `${seed}`,
    report: report === undefined ? undefined : `${report}`,
    values: rest,
  };
}

/**
 * `size` elements of a list, the same ones for the same seed. Over many seeds each is
 * among them equally often.
 *
 * @public
 */
export function sampleOf<T extends { name: string }>(
  list: readonly T[],
  size: number,
  seed: string,
): T[] {
  const rank = ({ name }: T) =>
    createHash('sha256').update(`${seed}: ${name}`).digest('hex');
  return [...list].sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, size);
}
