import { ENTITY_KEY } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { escapeIdentifier } from '../../sql';
import { failure, ok } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';
import { enumerate, script } from '../../text';

interface ForeignKey {
  name: string;
  /** With the schema, as SQL. */
  table: string;
  columns: string[];
  /** Which of the three it stands on or points to, if it is one of them. */
  from: TenantTable | null;
  to: TenantTable | null;
  referenced: string;
  referencedColumns: string[];
}

/**
 * Nothing else references rows of the three tables: after phase 5 it would have to
 * name the tenant too. The keys by which relations and refresh_state name their
 * entity are rebuilt; what the tables reference besides is carried over.
 */
export const foreignKeys: PreflightCheck = {
  name: 'foreign keys',
  scope: 'tables',
  async run(context) {
    const keys = await readForeignKeys(context);
    const incoming = keys.filter(key => key.to !== null && !isRebuilt(key));
    const outgoing = keys.filter(key => key.to === null);
    const outcomes: Outcome[] = incoming.map(refuse);
    if (outgoing.length > 0) {
      const list = outgoing.map(
        ({ name, from, referenced }) => `${name} (${from} to ${referenced})`,
      );
      outcomes.push(
        ok(
          `Foreign keys to other tables are carried over: ${enumerate(list)}.`,
          {
            details: outgoing,
          },
        ),
      );
    }
    return outcomes.length > 0
      ? outcomes
      : [ok('No foreign key of another table hangs on the three.')];
  },
};

/** The keys on the entity of a row, with the tenant in them once there is one. */
function isRebuilt(key: ForeignKey): boolean {
  const { from, to, columns, referencedColumns } = key;
  return (
    (from === 'relations' || from === 'refresh_state') &&
    to === 'entities' &&
    withoutTenant(columns) === ENTITY_KEY[from] &&
    withoutTenant(referencedColumns) === 'entity_id'
  );
}

function withoutTenant(columns: string[]): string {
  return columns.filter(column => column !== 'tenant_id').join();
}

function refuse(key: ForeignKey): Outcome {
  const { name, table, columns, to, referencedColumns } = key;
  return failure(
    `The foreign key ${name} of ${table} (${columns.join(', ')}) references ` +
      `${to} (${referencedColumns.join(', ')}).`,
    {
      advice:
        'After phase 5 that is unique only together with tenant_id. Drop the foreign ' +
        'key, and if it is still wanted add one with tenant_id afterwards.',
      sql: script([
        `alter table ${table} drop constraint ${escapeIdentifier(name)}`,
      ]),
    },
  );
}

async function readForeignKeys({
  executor,
  facts,
}: PreflightContext): Promise<ForeignKey[]> {
  return executor.read<ForeignKey>(
    `select k.conname as name, format('%I.%I', n.nspname, c.relname) as table,
            (select array_agg(a.attname::text order by u.i)
               from unnest(k.conkey) with ordinality u (num, i)
               join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.num) as columns,
            f.name as from, t.name as to,
            k.confrelid::regclass::text as referenced,
            (select array_agg(a.attname::text order by u.i)
               from unnest(k.confkey) with ordinality u (num, i)
               join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.num)
              as "referencedColumns"
       from pg_constraint k
       join pg_class c on c.oid = k.conrelid
       join pg_namespace n on n.oid = c.relnamespace
       left join unnest($1::oid[], $2::text[]) f (oid, name) on f.oid = k.conrelid
       left join unnest($1::oid[], $2::text[]) t (oid, name) on t.oid = k.confrelid
      where k.contype = 'f' and k.conparentid = 0
        and (f.oid is not null or t.oid is not null)
      order by 2, 1`,
    [facts.tables.map(({ oid }) => oid), facts.tables.map(({ name }) => name)],
  );
}
