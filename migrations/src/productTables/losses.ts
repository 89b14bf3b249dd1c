import type { Executor } from '../engine/Executor';
import { columnExists } from '../schema/lookups';
import { ENGINES_TABLE, MEMBERS_TABLE, TENANT_LIMITS } from '../schema/tables';
import { formatThings } from '../text';

/** What the product's own tables hold that is nowhere else. */
interface Loss {
  table: string;
  /** One that this product gives the table: another table of the name has none. */
  column: string;
  /** Counts with the aliases that `describe` takes. */
  counts: string;
  describe(counts: Record<string, number>): string | undefined;
}

const LOSSES: readonly Loss[] = [
  {
    table: MEMBERS_TABLE,
    column: 'principal',
    counts: 'count(*) as members, count(distinct tenant_id) as tenants',
    describe: ({ members, tenants }) =>
      members > 0
        ? `${formatThings(members, 'member')} of ${formatThings(
            tenants,
            'tenant',
          )}`
        : undefined,
  },
  {
    table: 'tenant_sign_in',
    column: 'provider',
    counts: 'count(*) as tenants',
    describe: ({ tenants }) =>
      tenants > 0
        ? `the sign-in of ${formatThings(tenants, 'tenant')}`
        : undefined,
  },
  {
    table: 'tenant_invitations',
    column: 'token_hash',
    counts:
      'count(*) filter (where accepted_at is null and expires_at > now()) as open',
    describe: ({ open }) =>
      open > 0 ? formatThings(open, 'open invitation') : undefined,
  },
  {
    table: ENGINES_TABLE,
    column: 'catalog_config',
    counts: 'count(*) as engines, count(catalog_config) as configured',
    describe: ({ engines, configured }) =>
      engines > 0
        ? `the engines of ${formatThings(
            engines,
            'tenant',
          )}, ${configured} with a configuration`
        : undefined,
  },
  {
    table: 'tenant_shares',
    column: 'target_ids',
    counts: 'count(*) as shares',
    describe: ({ shares }) =>
      shares > 0 ? formatThings(shares, 'share') : undefined,
  },
  {
    table: 'tenants',
    column: 'burst',
    counts: `count(*) filter (where coalesce(${Object.keys(TENANT_LIMITS).join(
      ', ',
    )}) is not null) as limited`,
    describe: ({ limited }) =>
      limited > 0
        ? `the limits of ${formatThings(limited, 'tenant')}`
        : undefined,
  },
];

/** What the way back deletes of them: `tenant_members: 3 members of 2 tenants`. */
export async function readProductLosses(executor: Executor): Promise<string[]> {
  const losses: string[] = [];
  for (const { table, column, counts, describe } of LOSSES) {
    if (await columnExists(executor, table, column)) {
      const [row] = await executor.read<Record<string, string>>(
        `select ${counts} from ${table}`,
      );
      const loss = describe(
        Object.fromEntries(
          Object.entries(row).map(([name, count]) => [name, Number(count)]),
        ),
      );
      losses.push(...(loss ? [`${table}: ${loss}`] : []));
    }
  }
  return losses;
}
