import { givePartition, takeBackPartition } from '../../partitions/move';
import { LOCK_PATIENCE_MINUTES } from '../../session/lockRetries';
import { maxBlockOption } from '../options';
import type { CommandDefinition, Invocation } from '../run';

const HOW = `
The partitions change places with copies, which the command makes while the application
reads and writes. The exchange locks the tables for changes of the catalog and reads no
row: it takes milliseconds, whatever the size of the tenant. After --max-block
milliseconds it is given up, and nothing is changed. Until the end, the copies need as
much disk space as the partitions that tenants share.

Once the copies are complete, triggers make each change of a row in them too, until the
exchange, which waits for older transactions to end. A REPEATABLE READ or SERIALIZABLE
transaction that began before that moment and writes rows of this tenant, or of tenants
without partitions of their own, fails with 40001 (serialization_failure): retry it, as
after any concurrent update. Transactions that only read, and READ COMMITTED
transactions, never fail.

What is in the way, a transaction or a lock, is waited for ${LOCK_PATIENCE_MINUTES} minutes. Then the command
drops what it has prepared, and ends with exit code 6.`.trim();

/** Gives a tenant partitions of its own. */
export const partition: CommandDefinition = {
  name: 'partition',
  arguments: '<slug>',
  description: 'Give a tenant a partition of its own, after phase 5.',
  details: HOW,
  access: 'change',
  refusedOnCitus: 'where a shard does what a partition does: see move-tenant',
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
  details: `${HOW}\n\nThe tenant may be deleted.`,
  access: 'change',
  refusedOnCitus: 'where a shard does what a partition does: see move-tenant',
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
