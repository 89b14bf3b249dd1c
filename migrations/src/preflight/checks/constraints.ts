import { ENTITY_KEY } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { escapeIdentifier } from '../../sql';
import { enumerate, script } from '../../text';
import { failure, ok, warning } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

/** `entity_id` is the primary key of entities, and `entity_ref` is unique. */
export const entityKeys: PreflightCheck = {
  name: 'keys of entities',
  scope: 'tables',
  fine: 'entity_id is the primary key, and entity_ref is unique.',
  async run({ executor, facts }) {
    const entities = facts.tables.find(({ name }) => name === 'entities');
    if (!entities) {
      return [];
    }
    const keys = await executor.read<{ column: string; primary: boolean }>(
      `select a.attname as column, i.indisprimary as primary
         from pg_index i
         join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
        where i.indrelid = $1 and i.indisunique and i.indisvalid
          and i.indimmediate and i.indnkeyatts = 1
          and i.indpred is null and i.indexprs is null`,
      [entities.oid],
    );
    const outcomes: Outcome[] = [];
    if (!keys.some(key => key.primary && key.column === 'entity_id')) {
      outcomes.push(
        failure('entity_id is not the primary key of entities.', {
          advice: 'Make it the primary key.',
          sql: script([
            `create unique index concurrently entities_pkey on ${entities.sql} (entity_id)`,
            `alter table ${entities.sql} add primary key using index entities_pkey`,
          ]),
        }),
      );
    }
    if (!keys.some(key => key.column === 'entity_ref')) {
      outcomes.push(
        failure('entity_ref is not unique in entities.', {
          advice: 'Make it unique, after looking for duplicates.',
          sql: script([
            `select entity_ref, count(*) from ${entities.sql} group by 1 having count(*) > 1`,
            `create unique index concurrently entities_entity_ref_key on ${entities.sql} (entity_ref)`,
          ]),
        }),
      );
    }
    return outcomes;
  },
};

interface InvalidIndex {
  /** With the schema, as SQL. */
  index: string;
  table: string;
  constraint: boolean;
  /** Its first column is ours: a step that was interrupted builds it again. */
  ours: boolean;
}

/** No index was left unfinished: phase 5 builds the same ones on the new tables. */
export const invalidIndexes: PreflightCheck = {
  name: 'invalid indexes',
  scope: 'tables',
  fine: 'Every index is valid.',
  async run({ executor, facts }) {
    const invalid = await executor.read<InvalidIndex>(
      `select format('%I.%I', n.nspname, c.relname) as index,
              i.indrelid::regclass::text as table,
              exists (select from pg_constraint where conindid = c.oid) as constraint,
              coalesce(a.attname = 'tenant_id', false) as ours
         from pg_index i
         join pg_class c on c.oid = i.indexrelid
         join pg_namespace n on n.oid = c.relnamespace
         left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
        where i.indrelid = any ($1) and not (i.indisvalid and i.indisready)
        order by 1`,
      [facts.tables.map(({ oid }) => oid)],
    );
    return invalid.map(each =>
      each.ours && facts.begunPhase > 0
        ? warning(`The index ${each.index} of ${each.table} is unfinished.`, {
            advice: 'The phase that was building it does so again.',
          })
        : failure(`The index ${each.index} of ${each.table} is invalid.`, {
            advice: each.constraint
              ? 'Build it again.'
              : 'Drop it if it was a leftover, or build it again.',
            sql: script([
              ...(each.constraint
                ? []
                : [`drop index concurrently ${each.index}`]),
              `reindex index concurrently ${each.index}`,
            ]),
          }),
    );
  },
};

/** Constraints that partitioned tables can have too, and what becomes of unique ones. */
export const constraints: PreflightCheck = {
  name: 'constraints',
  scope: 'tables',
  fine: 'The tables have no constraint that needs attention.',
  obstacles: true,
  async run(context) {
    return [...(await unvalidated(context)), ...(await uniqueIndexes(context))];
  },
};

async function unvalidated({
  executor,
  facts,
}: PreflightContext): Promise<Outcome[]> {
  // Phases 2 and 3 add NOT VALID constraints themselves, and validate them.
  if (facts.begunPhase > 1) {
    return [];
  }
  const rows = await executor.read<{ name: string; sql: string }>(
    `select k.conname as name, t.name as sql
       from pg_constraint k
       join unnest($1::oid[], $2::text[]) t (oid, name) on t.oid = k.conrelid
      where not k.convalidated order by 2, 1`,
    [facts.tables.map(({ oid }) => oid), facts.tables.map(({ sql }) => sql)],
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
  fine: 'No foreign key of another table hangs on the three.',
  async run(context) {
    const keys = await readForeignKeys(context);
    const incoming = keys.filter(key => key.to !== null && !isRebuilt(key));
    const outgoing = keys.filter(key => key.to === null);
    const outcomes: Outcome[] = incoming.map(refuseForeignKey);
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
    return outcomes;
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

function refuseForeignKey(key: ForeignKey): Outcome {
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
