import { ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import { obstacleOutcomes } from '../obstacleOutcomes';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';
import { enumerate } from '../../text';

interface Grant {
  table: string;
  /** Null where it is on the table itself. */
  column: string | null;
  grantee: string;
  privileges: string[];
}

const TRUNCATE = 'TRUNCATE';
const PUBLIC = 'PUBLIC';

/** Grants are carried over, but for TRUNCATE, which no policy governs. */
export const grants: PreflightCheck = {
  name: 'grants',
  scope: 'tables',
  async run(context) {
    const found = await readGrants(context);
    const outcomes: Outcome[] = await obstacleOutcomes(context, 'grants');
    if (found.length > 0) {
      outcomes.push(
        ok(`Grants are carried over: ${enumerate(found.map(describe))}.`, {
          details: found,
        }),
      );
    }
    const truncating = found.filter(
      ({ grantee, privileges }) =>
        grantee !== PUBLIC && privileges.includes(TRUNCATE),
    );
    if (truncating.length > 0) {
      const list = truncating.map(
        ({ grantee, table }) => `${grantee} (${table})`,
      );
      outcomes.push(
        warning(`TRUNCATE is granted to ${enumerate(list)}.`, {
          advice:
            "It empties a table of every tenant's rows. The partitioned tables do not " +
            'get it; revoke it where phase 4 must not wait for phase 5.',
        }),
      );
    }
    return outcomes.length > 0
      ? outcomes
      : [ok('Nobody but the owner has rights on the tables.')];
  },
};

function describe({ table, column, grantee, privileges }: Grant): string {
  const on = column === null ? table : `${table}.${column}`;
  return `${privileges.join(', ')} on ${on} to ${grantee}`;
}

async function readGrants({
  executor,
  facts,
}: PreflightContext): Promise<Grant[]> {
  return executor.read<Grant>(
    `with grants as (
       select c.oid, null::name as column, a.*
         from pg_class c, aclexplode(c.relacl) a
        where c.oid = any ($1) and a.grantee <> c.relowner
       union all
       select t.attrelid, t.attname, a.*
         from pg_attribute t, aclexplode(t.attacl) a
        where t.attrelid = any ($1) and not t.attisdropped
     )
     select g.oid::regclass::text as table, g.column,
            coalesce(r.rolname, '${PUBLIC}') as grantee,
            array_agg(g.privilege_type order by g.privilege_type) as privileges
       from grants g left join pg_roles r on r.oid = g.grantee
      group by 1, 2, 3 order by 1, 3, 2 nulls first`,
    [facts.tables.map(({ oid }) => oid)],
  );
}
