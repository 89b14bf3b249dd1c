import {
  ENTITY_REF_RULE,
  nullableColumns,
} from '../../phases/phase3_application/rules';
import { ENTITY_KEY } from '../../schema/tables';
import { escapeIdentifier } from '../../sql';
import { enumerate, formatThings, script } from '../../text';
import { failure, ok } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
  TableFacts,
} from '../PreflightCheck';

// Examples of rows that violate a rule.
const EXAMPLES = 10;

/** Columns that become NOT NULL hold a value in every row. */
export const requiredValues: PreflightCheck = {
  name: 'required values',
  scope: 'rows',
  async run({ executor, facts }) {
    const outcomes: Outcome[] = [];
    const nullable: string[] = [];
    for (const { table, column } of await nullableColumns(executor)) {
      const { sql } = facts.tables.find(({ name }) => name === table)!;
      const name = escapeIdentifier(column);
      const [{ missing }] = await executor.read<{ missing: number }>(
        `select count(*)::int as missing from ${sql} where ${name} is null`,
      );
      nullable.push(`${table}.${column}`);
      if (missing > 0) {
        outcomes.push(
          failure(
            `${formatThings(
              missing,
              'row',
            )} of ${table} without a value of ${column}, which is required.`,
            {
              advice: 'Give these rows a value, or delete them.',
              sql: script([`select * from ${sql} where ${name} is null`]),
            },
          ),
        );
      }
    }
    if (outcomes.length > 0) {
      return outcomes;
    }
    return [
      ok(
        nullable.length === 0
          ? 'The required columns are NOT NULL.'
          : `Every row has the required values; phase 3 makes these columns NOT NULL: ${enumerate(
              nullable,
            )}.`,
      ),
    ];
  },
};

/** A pattern for references, with groups for kind, namespace and name. */
const FORM = '^([^:]+):([^/]+)/(.+)$';

// `is not true`, because a null in one of the columns violates the rule as well.
const BROKEN = `(${ENTITY_REF_RULE}) is not true`;

/** Every entity_ref consists of kind, namespace and name. */
export const entityRefs: PreflightCheck = {
  name: 'entity references',
  scope: 'rows',
  async run(context) {
    const { executor, facts, settings } = context;
    const entities = facts.tables.find(({ name }) => name === 'entities');
    const text = {
      entity_ref: 'text',
      entity_kind: 'text',
      entity_namespace: 'text',
      entity_name: 'text',
    };
    if (!entities || !(await hasColumns(context, entities, text))) {
      return [];
    }
    const [{ broken, formless, examples }] = await executor.read<{
      broken: number;
      formless: number;
      examples: string[];
    }>(
      `with broken as materialized (
         select entity_ref, entity_kind, entity_namespace, entity_name
           from ${entities.sql} where ${BROKEN})
       select (select count(*)::int from broken) as broken,
              (select count(*)::int from broken
                where entity_ref !~ '${FORM}' or entity_ref is null) as formless,
              array(select format('%s (of %s:%s/%s)', entity_ref, entity_kind,
                                  entity_namespace, entity_name)
                      from broken order by 1 limit ${EXAMPLES}) as examples`,
    );
    if (broken === 0) {
      return [
        ok(
          'Every entity_ref is <entity_kind>:<entity_namespace>/<entity_name>.',
        ),
      ];
    }
    const formed = broken - formless;
    return [
      failure(
        `In ${formatThings(broken, 'row')} of entities, entity_ref is not ` +
          `<entity_kind>:<entity_namespace>/<entity_name>: ${enumerate(
            examples,
          )}` +
          `${broken > examples.length ? ', …' : ''}.`,
        {
          advice:
            `The first statement corrects ${formatThings(
              formed,
              'row',
            )} by the reference. ` +
            `The second lists the other ${formless}, to be corrected or deleted.`,
          sql: script(repairStatements(settings.schema)),
          details: examples,
        },
      ),
    ];
  },
};

/**
 * The statements that repair entities whose `entity_ref` is not
 * `<entity_kind>:<entity_namespace>/<entity_name>`: an update that takes the three from a
 * reference of that form, and a query for the others. They keep the reference, by which
 * other entities name this one.
 */
export function repairStatements(schema: string): string[] {
  const entities = `${escapeIdentifier(schema)}.entities`;
  const parts = `regexp_match(entity_ref, '${FORM}')`;
  return [
    `update ${entities}
   set entity_kind = (${parts})[1],
       entity_namespace = (${parts})[2],
       entity_name = (${parts})[3]
 where ${BROKEN}
   and entity_ref ~ '${FORM}'`,
    `select entity_id, entity_ref, entity_kind, entity_namespace, entity_name
  from ${entities}
 where ${BROKEN}
   and (entity_ref ~ '${FORM}') is not true`,
  ];
}

/** Every row of relations and refresh_state has its entity. */
export const orphans: PreflightCheck = {
  name: 'orphans',
  scope: 'rows',
  fine: 'Every row of relations and refresh_state has its entity.',
  async run(context) {
    const { executor, facts } = context;
    const entities = facts.tables.find(({ name }) => name === 'entities');
    const outcomes: Outcome[] = [];
    for (const table of facts.tables) {
      const { name, sql } = table;
      const key = ENTITY_KEY[name];
      const comparable =
        entities &&
        name !== 'entities' &&
        (await hasColumns(context, entities, { entity_id: 'uuid' })) &&
        (await hasColumns(context, table, { [key]: 'uuid' }));
      if (!comparable) {
        continue;
      }
      const orphaned =
        `from ${sql} t where t.${key} is not null and not exists ` +
        `(select from ${entities.sql} e where e.entity_id = t.${key})`;
      const [{ rows, missing, examples }] = await executor.read<{
        rows: number;
        missing: number;
        examples: string[];
      }>(
        `with orphaned as materialized (
           select t.${key}::text as id, count(*) as rows ${orphaned} group by 1)
         select coalesce(sum(rows), 0)::int as rows, count(*)::int as missing,
                array(select id from orphaned order by 1 limit ${EXAMPLES}) as examples
           from orphaned`,
      );
      if (rows > 0) {
        outcomes.push(
          failure(
            `${formatThings(
              rows,
              'row',
            )} of ${name} without an entity; ${key} is ` +
              `${enumerate(examples)}${
                missing > examples.length ? ', …' : ''
              }.`,
            {
              advice: 'Look at these rows, and delete them.',
              sql: script([`select t.* ${orphaned}`, `delete ${orphaned}`]),
              details: examples,
            },
          ),
        );
      }
    }
    return outcomes;
  },
};

/**
 * Whether a table has columns of these types. If not, the check of the columns reports it,
 * and a query of the rows would fail.
 */
async function hasColumns(
  { executor }: PreflightContext,
  table: TableFacts,
  types: Record<string, string>,
): Promise<boolean> {
  const names = Object.keys(types);
  const rows = await executor.read<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, null) as type from pg_attribute
      where attrelid = $1 and attname = any ($2) and not attisdropped`,
    [table.oid, names],
  );
  return (
    rows.length === names.length &&
    rows.every(({ name, type }) => types[name] === type)
  );
}
