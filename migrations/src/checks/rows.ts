import type { Executor } from '../engine/Executor';
import { requiredColumns } from '../layout';
import {
  DEFAULT_TENANT_ID,
  ENTITY_KEY,
  REFERENCING_TABLES,
  TENANT_TABLES,
} from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import type { Rule } from './Rule';

// What rows must satisfy. The preflight reports it, and phase 3 refuses it before it makes
// constraints of these rules, so that the copy of phase 5 cannot fail on a row written later.

/** The form of an entity reference (specification, B.2). */
export const ENTITY_REF_RULE =
  "entity_ref = entity_kind || ':' || entity_namespace || '/' || entity_name";

/** A pattern for references, with groups for kind, namespace and name. */
const FORM = '^([^:]+):([^/]+)/(.+)$';

const EXAMPLES = 10;

/** A column that has to become NOT NULL. */
export interface NullableColumn {
  table: TenantTable;
  column: string;
}

/** The required columns that are still nullable. */
export async function nullableColumns(
  executor: Executor,
): Promise<NullableColumn[]> {
  const found: NullableColumn[] = [];
  for (const table of TENANT_TABLES) {
    const rows = await executor.read<{ column: string }>(
      `select attname as column from pg_attribute
        where attrelid = to_regclass($1) and attname = any ($2)
          and not attnotnull and not attisdropped
        order by attnum`,
      [table, requiredColumns(table)],
    );
    found.push(...rows.map(({ column }) => ({ table, column })));
  }
  return found;
}

const keyOf = (table: TenantTable) =>
  `coalesce(t.${ENTITY_KEY[table]}::text, 'ctid ' || t.ctid)`;

/**
 * A rule of the rows of a table.
 *
 * @param broken - where it is broken; the table is `t`
 * @param fix - the statements that put it right, or show the rows
 * @param example - SQL for how a row is named
 */
function ruleOf(
  table: TenantTable,
  texts: Pick<Rule, 'message' | 'advice'>,
  broken: string,
  fix: string[],
  example = keyOf(table),
): Rule {
  return {
    ...texts,
    name: 'rows',
    level: 'failure',
    sql: `
    select name, $fix$${fix.join(
      ';\n',
    )}$fix$ as fix, count(*) over ()::int as total
      from (select distinct ${example} as name from ${table} t where ${broken}) found
     order by 1 limit ${EXAMPLES}`,
  };
}

const shown = (table: TenantTable, broken: string) =>
  `select * from ${table} t where ${broken}`;

function presence(table: TenantTable): Rule {
  const required = requiredColumns(table);
  const broken = `num_nulls(${required.join(', ')}) > 0`;
  const lacking = required.map(
    column => `case when ${column} is null then '${column}' end`,
  );
  return ruleOf(
    table,
    {
      message: `Rows of ${table} lack a required value`,
      advice: 'Give these rows a value, or delete them.',
    },
    broken,
    [shown(table, broken)],
    `format('%s (%s)', ${keyOf(table)}, concat_ws(', ', ${lacking.join(
      ', ',
    )}))`,
  );
}

// `is not true`, because a null in one of the columns violates the rule as well.
const WRONG = `(${ENTITY_REF_RULE}) is not true`;
const PARTS = `regexp_match(entity_ref, '${FORM}')`;

/**
 * The first statement takes kind, namespace and name from a reference of the right form. It
 * keeps the reference, by which other entities name this one.
 */
const entityRefs = ruleOf(
  'entities',
  {
    message:
      'Rows of entities have an entity_ref that is not <entity_kind>:<entity_namespace>/<entity_name>',
    advice:
      'The first statement takes the parts from the reference, and the second lists the others, to be corrected or deleted.',
  },
  WRONG,
  [
    `update entities
   set entity_kind = (${PARTS})[1], entity_namespace = (${PARTS})[2], entity_name = (${PARTS})[3]
 where ${WRONG} and entity_ref ~ '${FORM}'`,
    `select entity_id, entity_ref, entity_kind, entity_namespace, entity_name
  from entities
 where ${WRONG} and (entity_ref ~ '${FORM}') is not true`,
  ],
  `format('%s (of %s:%s/%s)', entity_ref, entity_kind, entity_namespace, entity_name)`,
);

function orphans(table: TenantTable): Rule {
  const key = `t.${ENTITY_KEY[table]}`;
  const broken = `${key} is not null and not exists (select from entities e where e.entity_id = ${key})`;
  return ruleOf(
    table,
    {
      message: `The entity of rows of ${table} is missing`,
      advice: 'Look at these rows, and delete them.',
    },
    broken,
    [shown(table, broken), `delete from ${table} t where ${broken}`],
  );
}

/** What the preflight and phase 3 look for. */
export const ROW_RULES: readonly Rule[] = [
  ...TENANT_TABLES.map(presence),
  entityRefs,
  ...REFERENCING_TABLES.map(orphans),
];

/** Before the swap there is one tenant only (specification, migration phases). */
export const ONE_TENANT_RULES: readonly Rule[] = TENANT_TABLES.map(table => {
  const broken = `t.tenant_id <> '${DEFAULT_TENANT_ID}'`;
  return ruleOf(
    table,
    {
      message: `Rows of ${table} belong to other tenants than the default one`,
      advice: 'There is room for them after phase 5.',
    },
    broken,
    [shown(table, broken)],
  );
});
