import { RefusedError } from '../../errors';
import type { Executor } from '../../engine/Executor';
import type { StepContext } from '../../engine/Step';
import { escapeIdentifier } from '../../sql';
import {
  DEFAULT_TENANT_ID,
  ENTITY_KEY,
  TENANT_TABLES,
} from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { formatThings } from '../../text';

/** The form of an entity reference (specification, B.2). */
export const ENTITY_REF_RULE =
  "entity_ref = entity_kind || ':' || entity_namespace || '/' || entity_name";

/** The columns, besides tenant_id, that every row must have. */
const REQUIRED_COLUMNS: Record<TenantTable, string[]> = {
  entities: [
    'entity_id',
    'entity_ref',
    'entity_kind',
    'entity_namespace',
    'entity_name',
    'final_entity',
    'hash',
    'created_at',
    'updated_at',
  ],
  relations: [ENTITY_KEY.relations],
  refresh_state: [ENTITY_KEY.refresh_state],
};

const EXAMPLES = 5;

/** A column that has to become NOT NULL. */
export interface NullableColumn {
  table: TenantTable;
  column: string;
}

interface Rule {
  /** What violates it: `row`; with its plural, unless that is `rows`. */
  thing: string;
  things?: string;
  /** The violation. */
  broken: string;
  /** A query for violations, with a text in the column `example`. */
  rows: string;
}

const RULES: Rule[] = [
  ...TENANT_TABLES.map(ofOtherTenants),
  {
    thing: 'entity',
    things: 'entities',
    broken:
      'whose entity_ref is not <entity_kind>:<entity_namespace>/<entity_name>',
    rows: `select format('%s (of %s:%s/%s)', entity_ref, entity_kind,
                    entity_namespace, entity_name) as example
             from entities where not (${ENTITY_REF_RULE})`,
  },
  duplicates('entity_id'),
  duplicates('entity_ref'),
  orphans('relations'),
  orphans('refresh_state'),
];

/**
 * Refuses the phase unless unique keys cover the ids and references of entities: the
 * application and the copy of phase 5 rely on them.
 *
 * @throws {@link RefusedError}
 */
export async function checkKeys({ executor }: StepContext): Promise<void> {
  for (const column of ['entity_id', 'entity_ref']) {
    const keys = await executor.read(
      `select from pg_index i
         join pg_attribute a on a.attrelid = i.indrelid and a.attname = $1
        where i.indrelid = to_regclass('entities') and i.indisunique
          and i.indisvalid and i.indimmediate and i.indpred is null
          and i.indnkeyatts = 1 and i.indkey[0] = a.attnum`,
      [column],
    );
    if (keys.length === 0) {
      throw new RefusedError(
        `entities has no unique index on ${column} alone. Run "create unique index ` +
          `concurrently on entities (${column})", and run the command again.`,
      );
    }
  }
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
      [table, REQUIRED_COLUMNS[table]],
    );
    found.push(...rows.map(({ column }) => ({ table, column })));
  }
  return found;
}

/**
 * Refuses the phase while rows violate the constraints of the partitioned tables.
 *
 * Each of these rules becomes a constraint of the tables in use, so that the copy of
 * phase 5 cannot fail on a row written later.
 *
 * @throws {@link RefusedError} with the number and some examples for each rule
 */
export async function checkRules({ executor }: StepContext): Promise<void> {
  const nullable = await nullableColumns(executor);
  const complaints: string[] = [];
  for (const { thing, things, broken, rows } of [
    ...nullable.map(presence),
    ...RULES,
  ]) {
    const [{ count, examples }] = await executor.read<{
      count: number;
      examples: string[];
    }>(
      `with broken as (${rows})
       select count(*)::int as count,
              array(select example from broken limit ${EXAMPLES}) as examples
         from broken`,
    );
    if (count > 0) {
      const more = count > examples.length ? ', …' : '';
      complaints.push(
        `- ${formatThings(count, thing, things)} ${broken}: ${examples.join(
          ', ',
        )}${more}`,
      );
    }
  }
  if (complaints.length > 0) {
    throw new RefusedError(
      `The tables hold what the multi-tenant layout does not allow:\n${complaints.join(
        '\n',
      )}\nCorrect or delete these rows, and run the command again.`,
    );
  }
}

function presence({ table, column }: NullableColumn): Rule {
  const key = ENTITY_KEY[table];
  const name = escapeIdentifier(column);
  return {
    thing: 'row',
    broken: `of ${table} without ${column}`,
    rows: `select coalesce('${key} ' || ${key}, 'ctid ' || ctid) as example
             from ${table} where ${name} is null`,
  };
}

function ofOtherTenants(table: TenantTable): Rule {
  const key = ENTITY_KEY[table];
  return {
    thing: 'row',
    broken: `of ${table} of other tenants than the default one, for which there is room after phase 5`,
    rows: `select '${key} ' || coalesce(${key}::text, 'null') as example
             from ${table} where tenant_id <> '${DEFAULT_TENANT_ID}'`,
  };
}

function duplicates(column: string): Rule {
  return {
    thing: 'value',
    broken: `of ${column} that more than one entity of a tenant has`,
    rows: `select ${column}::text as example from entities
            where ${column} is not null
            group by tenant_id, ${column} having count(*) > 1`,
  };
}

function orphans(table: TenantTable): Rule {
  const key = ENTITY_KEY[table];
  return {
    thing: 'row',
    broken: `of ${table} whose entity is missing, or is another tenant's`,
    rows: `select '${key} ' || t.${key} as example from ${table} t
            where t.${key} is not null and not exists (
              select from entities e
               where e.tenant_id = t.tenant_id and e.entity_id = t.${key})`,
  };
}
