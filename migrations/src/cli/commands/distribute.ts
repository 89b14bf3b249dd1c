import {
  distribute as distributeTables,
  undistribute as bringBack,
} from '../../sharding/distribute';
import type { Distribution } from '../../sharding/distribute';
import { moveTenant as move } from '../../sharding/moveTenant';
import { formatCount } from '../../text';
import { option, wholeNumber } from '../options';
import type { CommandDefinition, Invocation } from '../run';

const HOW = `
The tables are copied, compared and replaced in one transaction, for which writers wait.
The login has to be a superuser.`.trim();

/** Spreads the tables over nodes. */
export const distribute: CommandDefinition = {
  name: 'distribute',
  description:
    'Spread the tenants over the nodes of Citus, after phase 5 and the cleanup.',
  details: HOW,
  access: 'change',
  options: [
    option(
      '--shards <number>',
      'shards of each table, for good (default: citus.shard_count)',
      // As many as Citus takes.
      wholeNumber(1, 64_000, 'of shards'),
    ),
  ],
  async run(invocation) {
    const { migration, options } = invocation;
    const result = await distributeTables(migration, {
      shards: options.shards,
    });
    return summarize(
      invocation,
      result,
      'The tables of tenants are distributed already.',
      'The tables of tenants are distributed',
    );
  },
};

/** Brings them back. */
export const undistribute: CommandDefinition = {
  name: 'undistribute',
  description:
    'Bring the tenants back from the nodes of Citus to the coordinator, into partitioned tables.',
  details: `${HOW}\n\nTenants that had partitions of their own share one; "partition" gives them theirs.`,
  access: 'change',
  options: [],
  async run(invocation) {
    return summarize(
      invocation,
      await bringBack(invocation.migration),
      'The tables of tenants are not distributed.',
      'The tables of tenants are on the coordinator',
    );
  },
};

function summarize(
  { report }: Invocation,
  { changed, rows, blockedMs }: Distribution,
  nothing: string,
  done: string,
): string {
  report({ changed, rows, blockedMs });
  if (!changed) {
    return nothing;
  }
  const counts = Object.entries(rows)
    .map(([table, count]) => `${table} ${formatCount(Number(count))}`)
    .join(', ');
  return `${done}. Writers waited ${formatCount(
    blockedMs,
  )} ms. Rows, equal before and after: ${counts}.`;
}

/** Moves a tenant to another node. */
export const moveTenant: CommandDefinition = {
  name: 'move-tenant',
  arguments: '<slug>',
  description:
    'Move the rows of a tenant to another node of Citus, while its writers wait.',
  access: 'change',
  options: [
    option(
      '--to <host:port>',
      'the node, as "status" names it',
    ).makeOptionMandatory(),
  ],
  async run({ migration, args: [slug], options, report }) {
    const result = await move(migration.context, slug, String(options.to));
    report({ ...result });
    const { changed, from, to, milliseconds } = result;
    if (!changed) {
      return `The tenant "${slug}" is on ${to} already.`;
    }
    return `The tenant "${slug}" is on ${to} instead of ${from}: moved in ${formatCount(
      milliseconds,
    )} ms.`;
  },
};
