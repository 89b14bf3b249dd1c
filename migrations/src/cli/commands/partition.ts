import { givePartition, takeBackPartition } from '../../partitions';
import type { CommandDefinition, Invocation } from '../CommandDefinition';
import { maxBlockOption } from '../options/specific';

const WAITING =
  'Everybody who uses the tables waits while the rows move. That is one transaction, and\n' +
  'it takes the longer the more rows the tenant has. After --max-block milliseconds it\n' +
  'is given up, and nothing is changed.';

/** Gives a tenant partitions of its own. */
export const partition: CommandDefinition = {
  name: 'partition',
  arguments: '<slug>',
  description: 'Give a tenant a partition of its own, after phase 5.',
  details: `The copy is made while the application writes.\n${WAITING}`,
  access: 'change',
  options: [maxBlockOption],
  async run(invocation) {
    const { changed, partitions } = await move(invocation, givePartition);
    const names = Object.values(partitions ?? {}).join(', ');
    const [slug] = invocation.args;
    if (!changed) {
      return `The tenant "${slug}" has its partitions already: ${names}.`;
    }
    return invocation.options.dryRun
      ? 'The commands were printed. Nothing was changed.'
      : `The tenant "${slug}" has partitions of its own: ${names}.`;
  },
};

/** Takes them back. */
export const unpartition: CommandDefinition = {
  name: 'unpartition',
  arguments: '<slug>',
  description:
    'Take the partition of a tenant back: its rows go into the one that tenants share.',
  details: WAITING,
  access: 'change',
  options: [maxBlockOption],
  async run(invocation) {
    const { changed } = await move(invocation, takeBackPartition);
    const [slug] = invocation.args;
    if (!changed) {
      return `The tenant "${slug}" has no partitions of its own.`;
    }
    return invocation.options.dryRun
      ? 'The commands were printed. Nothing was changed.'
      : `The rows of the tenant "${slug}" are in the partitions that tenants share.`;
  },
};

async function move(
  { migration, options, args, report }: Invocation,
  run: typeof givePartition,
) {
  const result = await run(migration.context, args[0], {
    maxBlockMs: options.maxBlock,
  });
  report({
    changed: result.changed && !options.dryRun,
    partitions: result.partitions ?? null,
  });
  return result;
}
