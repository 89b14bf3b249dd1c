import { escapeIdentifier } from '../../sql';
import { failure, ok } from '../Finding';
import type { Outcome } from '../Finding';
import { obstacleOutcomes } from '../obstacleOutcomes';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';
import { enumerate, script } from '../../text';

/** Constraints that partitioned tables can have too, and what becomes of unique ones. */
export const constraints: PreflightCheck = {
  name: 'constraints',
  scope: 'tables',
  async run(context) {
    const outcomes = [
      ...(await obstacleOutcomes(context, 'constraints')),
      ...(await unvalidated(context)),
      ...(await uniqueIndexes(context)),
    ];
    return outcomes.length > 0
      ? outcomes
      : [ok('The tables have no constraint that needs attention.')];
  },
};

async function unvalidated({
  executor,
  facts,
}: PreflightContext): Promise<Outcome[]> {
  // Phases 2 and 3 add constraints of theirs in this way, and validate them.
  if (facts.begunPhase > 1) {
    return [];
  }
  const rows = await executor.read<{ name: string; sql: string }>(
    `select k.conname as name, t.name as sql
       from pg_constraint k
       join unnest($1::oid[], $2::text[]) t (oid, name) on t.oid = k.conrelid
      where not k.convalidated order by 2, 1`,
    oidsAndNames(facts.tables),
  );
  return rows.map(({ name, sql }) =>
    failure(`The constraint ${name} of ${sql} is NOT VALID.`, {
      advice:
        'The new tables have it for every row. Validate it, which stops neither readers nor writers.',
      sql: script([
        `alter table ${sql} validate constraint ${escapeIdentifier(name)}`,
      ]),
    }),
  );
}

async function uniqueIndexes({
  executor,
  facts,
}: PreflightContext): Promise<Outcome[]> {
  const rows = await executor.read<{ name: string; table: string }>(
    `select c.relname as name, i.indrelid::regclass::text as table
       from pg_index i join pg_class c on c.oid = i.indexrelid
       left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where i.indrelid = any ($1) and i.indisunique and not i.indisexclusion
        and a.attname is distinct from 'tenant_id' order by 2, 1`,
    [facts.tables.map(({ oid }) => oid)],
  );
  if (rows.length === 0) {
    return [];
  }
  const list = rows.map(({ name, table }) => `${name} (${table})`);
  return [
    ok(
      `Unique indexes get led by tenant_id, so that they hold within a tenant: ${enumerate(
        list,
      )}.`,
      { details: rows },
    ),
  ];
}

function oidsAndNames(
  tables: { oid: number; sql: string }[],
): [number[], string[]] {
  return [tables.map(({ oid }) => oid), tables.map(({ sql }) => sql)];
}
