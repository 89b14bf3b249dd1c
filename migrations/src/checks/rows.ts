import type { Executor } from '../engine/Executor';
import { requiredColumns } from '../layout';
import { ENTITY_KEY, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { enumerate, formatThings, script } from '../text';

// What rows must satisfy. The preflight reports it, and phase 3 refuses it before it makes
// constraints of these rules.

/** The form of an entity reference (specification, B.2). */
export const ENTITY_REF_RULE =
  "entity_ref = entity_kind || ':' || entity_namespace || '/' || entity_name";

/** A pattern for references, with groups for kind, namespace and name. */
const FORM = '^([^:]+):([^/]+)/(.+)$';

const EXAMPLES = 10;

/** A rule of rows. */
export interface RowRule {
  /** From which table, and where it is broken; the table is `t`. */
  broken: string;
  /** SQL for how a row is named. */
  example: string;
  /** What the rows are: `rows of relations whose entity is missing`. */
  message: string;
  advice: string;
  /** The statements that put it right, or show the rows. */
  fix: string[];
}

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

/** The rules, with one for each required column that is nullable. */
export async function readRowRules(executor: Executor): Promise<RowRule[]> {
  return [
    ...(await nullableColumns(executor)).map(presence),
    entityRefs(),
    orphans('relations'),
    orphans('refresh_state'),
  ];
}

function presence({ table, column }: NullableColumn): RowRule {
  const broken = `from ${table} t where t.${escapeIdentifier(column)} is null`;
  return {
    broken,
    example: `coalesce(t.${ENTITY_KEY[table]}::text, 'ctid ' || t.ctid)`,
    message: `of ${table} without a value of ${column}`,
    advice: 'Give these rows a value, or delete them.',
    fix: [`select t.* ${broken}`],
  };
}

/**
 * The first statement takes kind, namespace and name from a reference of the right form. It
 * keeps the reference, by which other entities name this one.
 */
function entityRefs(): RowRule {
  // `is not true`, because a null in one of the columns violates the rule as well.
  const wrong = `(${ENTITY_REF_RULE}) is not true`;
  const parts = `regexp_match(entity_ref, '${FORM}')`;
  return {
    broken: `from entities t where ${wrong}`,
    example: `format('%s (of %s:%s/%s)', entity_ref, entity_kind, entity_namespace, entity_name)`,
    message:
      'of entities whose entity_ref is not <entity_kind>:<entity_namespace>/<entity_name>',
    advice:
      'The first statement takes the parts from the reference, and the second lists the others, to be corrected or deleted.',
    fix: [
      `update entities
   set entity_kind = (${parts})[1], entity_namespace = (${parts})[2], entity_name = (${parts})[3]
 where ${wrong} and entity_ref ~ '${FORM}'`,
      `select entity_id, entity_ref, entity_kind, entity_namespace, entity_name
  from entities
 where ${wrong} and (entity_ref ~ '${FORM}') is not true`,
    ],
  };
}

function orphans(table: TenantTable): RowRule {
  const key = ENTITY_KEY[table];
  const broken =
    `from ${table} t where t.${key} is not null and not exists ` +
    `(select from entities e where e.entity_id = t.${key})`;
  return {
    broken,
    example: `t.${key}::text`,
    message: `of ${table} whose entity is missing`,
    advice: 'Look at these rows, and delete them.',
    fix: [`select t.* ${broken}`, `delete ${broken}`],
  };
}

/** Rows that break a rule. */
export interface BrokenRows {
  message: string;
  examples: string[];
  sql: string;
}

export async function examineRows(
  executor: Executor,
  { broken, example, message, fix }: RowRule,
): Promise<BrokenRows | undefined> {
  const [{ rows, different, examples }] = await executor.read<{
    rows: number;
    different: number;
    examples: string[];
  }>(
    `with broken as materialized (select ${example} as example ${broken})
     select (select count(*)::int from broken) as rows,
            (select count(distinct example)::int from broken) as different,
            array(select distinct example from broken order by 1 limit ${EXAMPLES}) as examples`,
  );
  return rows === 0
    ? undefined
    : {
        message: `${formatThings(rows, 'row')} ${message}: ${enumerate(
          examples,
        )}${different > examples.length ? ', …' : ''}.`,
        examples,
        sql: script(fix),
      };
}
