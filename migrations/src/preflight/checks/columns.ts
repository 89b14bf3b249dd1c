import { ENTITY_COLUMNS, ENTITY_KEY } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { failure, ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';
import { enumerate, script } from '../../text';

interface Column {
  table: TenantTable;
  /** The name of the table as SQL, with the schema. */
  sql: string;
  name: string;
  type: string;
}

const TENANT_COLUMN = 'tenant_id';

/** The columns of entities, and the keys of the other two tables. */
export const columns: PreflightCheck = {
  name: 'columns',
  scope: 'tables',
  async run(context) {
    const found = await readColumns(context);
    const outcomes = [
      ...(context.facts.tables.some(({ name }) => name === 'entities')
        ? judgeEntities(found.filter(({ table }) => table === 'entities'))
        : []),
      ...context.facts.tables.flatMap(({ name }) => judgeKey(name, found)),
      ...judgeTenantColumns(found, context),
    ];
    return outcomes.some(({ level }) => level === 'failure')
      ? outcomes
      : [ok('The columns are those of the specification.'), ...outcomes];
  },
};

async function readColumns({
  executor,
  facts,
}: PreflightContext): Promise<Column[]> {
  return executor.read<Column>(
    `select c.relname as table, format('%I.%I', n.nspname, c.relname) as sql,
            a.attname as name,
            format_type(a.atttypid, a.atttypmod) as type
       from pg_attribute a join pg_class c on c.oid = a.attrelid
       join pg_namespace n on n.oid = c.relnamespace
      where c.oid = any ($1) and a.attnum > 0 and not a.attisdropped
      order by c.relname, a.attnum`,
    [facts.tables.map(({ oid }) => oid)],
  );
}

function judgeEntities(found: Column[]): Outcome[] {
  const [{ sql }] = found;
  const outcomes: Outcome[] = [];
  for (const [name, expected] of Object.entries(ENTITY_COLUMNS)) {
    const column = found.find(each => each.name === name);
    if (!column) {
      outcomes.push(
        failure(`entities has no column ${name} (${expected}).`, {
          advice: 'Add it, with the value that it should have in every row.',
          sql: script([`alter table ${sql} add column ${name} ${expected}`]),
        }),
      );
    } else if (column.type !== expected) {
      outcomes.push(wrongType(column, expected));
    }
  }
  const extra = found
    .map(({ name }) => name)
    .filter(name => name !== TENANT_COLUMN && !(name in ENTITY_COLUMNS));
  if (extra.length > 0) {
    outcomes.push(
      warning(
        `entities has columns beyond the specification: ${enumerate(extra)}.`,
        { advice: 'They are carried over as they are.', details: extra },
      ),
    );
  }
  return outcomes;
}

function wrongType(column: Column, expected: string): Outcome {
  const { table, sql, name, type } = column;
  return failure(`${table}.${name} is of type ${type}, not ${expected}.`, {
    advice:
      'Change its type, while the application is stopped: unless it is a change ' +
      'from varchar to text, that writes the table anew.',
    sql: script([
      `alter table ${sql} alter column ${name} type ${expected} ` +
        `using ${name}::${expected}`,
    ]),
  });
}

/** The column by which the rows of relations and refresh_state find their entity. */
function judgeKey(table: TenantTable, found: Column[]): Outcome[] {
  if (table === 'entities') {
    return [];
  }
  const key = ENTITY_KEY[table];
  const column = found.find(each => each.table === table && each.name === key);
  if (!column) {
    return [
      failure(
        `${table} has no column ${key}, which names the entity of a row.`,
        {
          advice:
            'Is it the table of another catalog? Give the --schema of the one to migrate.',
        },
      ),
    ];
  }
  return column.type === 'uuid' ? [] : [wrongType(column, 'uuid')];
}

function judgeTenantColumns(
  found: Column[],
  { facts }: PreflightContext,
): Outcome[] {
  return found
    .filter(({ name }) => name === TENANT_COLUMN)
    .filter(({ type }) => facts.begunPhase === 0 || type !== 'uuid')
    .map(({ table, sql, type }) =>
      failure(
        `${table} has a column ${TENANT_COLUMN} (${type}) that the migration did not add.`,
        {
          advice: 'Phase 1 adds one of that name. Rename or drop this one.',
          sql: script([
            `alter table ${sql} rename column ${TENANT_COLUMN} to former_tenant_id`,
          ]),
        },
      ),
    );
}
