import { Command, InvalidArgumentError } from 'commander';
import type { Settings } from './harness/Benchmark';

/** Settings of all benchmarks. */
export type GivenSettings = Omit<Settings, 'rounds'> & { rounds?: number };

/** What the person who started the run asked for. */
export interface Options {
  /** Without rounds, each benchmark has its own number. */
  settings: GivenSettings;
  /** The names of the benchmarks to run; all if there are none. */
  names: string[];
  /** Whether the results are to be printed for programs. */
  json: boolean;
}

const FULL = { seconds: 1, concurrency: 8 };
const SHORT = { seconds: 0.2, concurrency: 8 };

/** Reads the command line; ends the process where it asks for help only. */
export function parseOptions(args: string[], available: string[]): Options {
  const command = new Command('npm run bench --')
    .description('Measures what we claim about speed, as ratios in one run.')
    .argument(
      '[names...]',
      `what to run in full, of: ${available.join(', ')}. ` +
        'Without a name, all of it in short',
    )
    .option('--short', 'little data and time, to see that it works')
    .option('--no-short', 'in full, where no name is given')
    .option('--json', 'print every measurement as JSON', false)
    .option('--rounds <n>', 'how often each side is measured', positiveInteger)
    .option('--seconds <n>', 'how long a measurement takes', positiveNumber)
    .option('--concurrency <n>', 'requests at a time', positiveInteger)
    .option(
      '--only <text>',
      'of the catalog and the pages: only what has this text in its name',
    )
    .option(
      '--entities <list>',
      'of the catalog and the pages: how many entities the catalogs have, such as 5000,50000',
      positiveIntegers,
    )
    .parse(args, { from: 'user' });

  const unknown = command.args.filter(name => !available.includes(name));
  if (unknown.length > 0) {
    command.error(`error: there is no benchmark ${unknown.join(', ')}`);
  }
  const { json, short = command.args.length === 0, ...given } = command.opts();
  return {
    settings: { short, ...(short ? SHORT : FULL), ...given },
    names: command.args,
    json,
  };
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (!(value > 0 && Number.isFinite(value))) {
    throw new InvalidArgumentError('It must be a number above 0.');
  }
  return value;
}

function positiveInteger(text: string): number {
  const value = positiveNumber(text);
  if (!Number.isInteger(value)) {
    throw new InvalidArgumentError('It must be a whole number above 0.');
  }
  return value;
}

function positiveIntegers(text: string): number[] {
  return text.split(',').map(positiveInteger);
}
