import { givePartition, takeBackPartition } from '../../partitions/move';
import { dryRunOption, maxBlockOption } from '../options';
import type { CommandDefinition, Invocation } from '../run';

const HOW = `
All rows move in one transaction, for which readers and writers of the tables wait; what
would take longer than --max-block is refused. Let no REPEATABLE READ transaction be open
meanwhile: its snapshot does not show the rows that have moved.`.trim();

const COMMON = {
  arguments: '<slug>',
  access: 'change',
  refusedOnCitus: 'where a shard does what a partition does: see move-tenant',
  options: [dryRunOption, maxBlockOption],
} satisfies Partial<CommandDefinition>;

/** Gives a tenant partitions of its own. */
export const partition: CommandDefinition = {
  ...COMMON,
  name: 'partition',
  description: 'Give a tenant a partition of its own, after phase 5.',
  details: HOW,
  async run(invocation) {
    const { changed, partitions } = await move(invocation, givePartition);
    const names = Object.values(partitions ?? {}).join(', ');
    const [slug] = invocation.args;
    if (!changed) {
      return `The tenant "${slug}" has its partitions already: ${names}.`;
    }
    return `The tenant "${slug}" has partitions of its own: ${names}.`;
  },
};

/** Takes them back. */
export const unpartition: CommandDefinition = {
  ...COMMON,
  name: 'unpartition',
  description:
    'Take the partition of a tenant back: its rows go into the one that tenants share.',
  details: `${HOW}\n\nThe tenant may be deleted.`,
  async run(invocation) {
    const { changed } = await move(invocation, takeBackPartition);
    const [slug] = invocation.args;
    if (!changed) {
      return `The tenant "${slug}" has no partitions of its own.`;
    }
    return `The rows of the tenant "${slug}" are in the partitions that tenants share.`;
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
    changed: result.changed,
    partitions: result.partitions ?? null,
  });
  return result;
}
