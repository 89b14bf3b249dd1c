import { defaultTenantPartition } from '../../schema/partitions';
import { escapeIdentifier } from '../../sql';
import type { TenantTable } from '../../schema/tables';
import { enumerate } from '../../text';
import { ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';

/** Something that does not follow to the partitioned tables. */
interface LeftBehind {
  name: string;
  table: TenantTable;
  /** Where it stands, of what is not in the tablespace of the database. */
  tablespace: string;
}

interface Kind {
  query: string;
  message(list: string): string;
  advice(first: LeftBehind, context: PreflightContext): string;
}

const KINDS: Kind[] = [
  {
    query: `
      select c.relname as name, coalesce(t.relname, c.relname) as table,
             s.spcname as tablespace
        from pg_class c join pg_tablespace s on s.oid = c.reltablespace
        left join pg_index i on i.indexrelid = c.oid
        left join pg_class t on t.oid = i.indrelid
       where coalesce(i.indrelid, c.oid) = any ($1) order by 2, 1`,
    message: list =>
      `These have tablespaces of their own, and what phase 5 makes in their place stands where new tables do: ${list}.`,
    advice: ({ tablespace }, { facts }) =>
      `Before phase 5, run "alter role ${escapeIdentifier(
        facts.login,
      )} set default_tablespace = ` +
      `${escapeIdentifier(tablespace)}", or whichever has the room.`,
  },
  {
    query: `
      select s.stxname as name, c.relname as table, '' as tablespace
        from pg_statistic_ext s join pg_class c on c.oid = s.stxrelid
       where s.stxrelid = any ($1) order by 2, 1`,
    message: list =>
      `Extended statistics are made of the partitioned table, and queries of one tenant use those of its partition: ${list}.`,
    advice: ({ table }) =>
      'Create them after phase 5 on the partitions as well, such as ' +
      `${defaultTenantPartition(table)}, and run ANALYZE.`,
  },
  {
    query: `
      select i.relname as name, c.relname as table, '' as tablespace
        from pg_index x join pg_class i on i.oid = x.indexrelid
        join pg_class c on c.oid = x.indrelid
       where x.indrelid = any ($1) and x.indisclustered order by 2, 1`,
    message: list =>
      `The new tables do not remember that CLUSTER used these indexes: ${list}.`,
    advice: ({ table }) =>
      `Name the index of ${defaultTenantPartition(
        table,
      )} to CLUSTER once after phase 5. ` +
      'The copy has the rows in the order in which they stand in the file.',
  },
];

/** What of the storage of the tables does not follow to the partitioned ones. */
export const storage: PreflightCheck = {
  name: 'storage',
  scope: 'tables',
  async run(context) {
    const { executor, facts } = context;
    const outcomes: Outcome[] = [];
    for (const { query, message, advice } of KINDS) {
      const found = await executor.read<LeftBehind>(query, [
        facts.tables.map(({ oid }) => oid),
      ]);
      if (found.length > 0) {
        const list = found.map(
          ({ name, table, tablespace }) =>
            `${name} (${tablespace === '' ? table : tablespace})`,
        );
        outcomes.push(
          warning(message(enumerate(list)), {
            advice: advice(found[0], context),
            details: found,
          }),
        );
      }
    }
    return outcomes.length > 0
      ? outcomes
      : [
          ok(
            'Storage parameters, compression and statistics targets are carried over.',
          ),
        ];
  },
};
