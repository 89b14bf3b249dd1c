import { readAdoptionStatus } from '../../adopt/status';
import { defaultTenantPartition } from '../../schema/partitions';
import { ENTITY_COLUMNS, ENTITY_KEY, TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { escapeIdentifier } from '../../sql';
import {
  decideAdoption,
  describeCatalog,
  readCatalogTables,
} from '../../status/next';
import type { CatalogTables } from '../../status/next';
import { enumerate, script } from '../../text';
import { failure, ok, warning } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

interface StoredTable {
  name: string;
  /** Its name as SQL, with the schema. */
  sql: string;
  kind: string;
  persistence: string;
  inherits: boolean;
  /** Its composite type (CREATE TABLE … OF), if any. */
  type: string | null;
  rules: string[];
}

const TABLE_KINDS: Record<string, string> = {
  p: 'a partitioned table',
  f: 'a foreign table',
  v: 'a view',
  m: 'a materialized view',
};

/** All three tables exist, or none, and they are ordinary tables. */
export const tables: PreflightCheck = {
  name: 'tables',
  scope: 'server',
  async run(context) {
    const { facts, settings } = context;
    if (facts.swapped) {
      return [ok('The partitioned tables of phase 5 are in place.')];
    }
    const found = facts.tables.map(({ name }) => name);
    const missing = TENANT_TABLES.filter(name => !found.includes(name));
    if (missing.length === 0) {
      const outcomes = (await readStorage(context)).flatMap(judgeStorage);
      return outcomes.length > 0
        ? outcomes
        : [
            ok(
              `${enumerate(found)} are ordinary tables of ${settings.schema}.`,
            ),
          ];
    }
    const { force, schema } = settings;
    const catalogTables = await readCatalogTables(context, 0);
    if (catalogTables.fitInPublic) {
      return [
        {
          level: force ? 'warning' : 'failure',
          message: `The schema ${schema} has no table entities, but the schema public has one that fits.`,
          advice:
            'Give --schema public. Or --force, if that is not the catalog to migrate.',
        },
      ];
    }
    return found.length === 0
      ? [await judgeStockCatalog(context, catalogTables)]
      : [
          failure(
            `The schema ${settings.schema} has ${enumerate(found)}, but no ` +
              `${missing.join(' and no ')}.`,
            {
              advice:
                'Expected all three of them, or none. Beside the catalog of Backstage, ' +
                'which has tables of the same names, give another --schema.',
            },
          ),
        ];
  },
};

async function readStorage({
  executor,
  facts,
}: PreflightContext): Promise<StoredTable[]> {
  return executor.read<StoredTable>(
    `select c.relname as name, format('%I.%I', n.nspname, c.relname) as sql,
            c.relkind as kind, c.relpersistence as persistence,
            exists (select from pg_inherits where c.oid in (inhrelid, inhparent)) as inherits,
            nullif(c.reloftype, 0)::regtype::text as type,
            array(select rulename::text from pg_rewrite
                   where ev_class = c.oid and c.relkind not in ('v', 'm')
                   order by 1) as rules
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.oid = any ($1)
      order by array_position($1, c.oid::int)`,
    [facts.tables.map(({ oid }) => oid)],
  );
}

function judgeStorage(table: StoredTable): Outcome[] {
  const { name, sql, kind, persistence, inherits, type, rules } = table;
  const outcomes: Outcome[] = [];
  if (kind !== 'r') {
    outcomes.push(
      failure(`${name} is ${TABLE_KINDS[kind] ?? 'no table'}.`, {
        advice: 'An ordinary table is expected, which phase 5 partitions.',
      }),
    );
  } else if (inherits) {
    outcomes.push(
      failure(
        `${name} inherits from a table, is a partition, or is inherited from.`,
        {
          advice: 'Move its rows into an ordinary table without inheritance.',
        },
      ),
    );
  }
  if (type !== null) {
    outcomes.push(
      failure(
        `${name} is a table of the type ${type}, which takes no column.`,
        {
          advice: 'Phase 1 adds one. Let it be a table by itself.',
          sql: script([`alter table ${sql} not of`]),
        },
      ),
    );
  }
  if (persistence !== 'p') {
    outcomes.push(
      failure(`${name} is ${persistence === 'u' ? 'unlogged' : 'temporary'}.`, {
        advice: 'Its rows would be lost in a crash, or with the session.',
        ...(persistence === 'u'
          ? { sql: `alter table ${sql} set logged;` }
          : {}),
      }),
    );
  }
  if (rules.length > 0) {
    outcomes.push(
      failure(`${name} has rules: ${enumerate(rules)}.`, {
        advice:
          'They would not follow to the partitioned table. Make triggers of them, or drop them.',
        sql: script(
          rules.map(rule => `drop rule ${escapeIdentifier(rule)} on ${sql}`),
        ),
      }),
    );
  }
  return outcomes;
}

/** Without the three tables, the stock catalog may have to be adopted first. */
async function judgeStockCatalog(
  context: PreflightContext,
  found: CatalogTables,
): Promise<Outcome> {
  const { schema, force } = context.settings;
  const none = `The schema ${schema} has none of the three tables`;
  const adoption = await readAdoptionStatus(context);
  const step = decideAdoption(found, adoption);
  if (!step) {
    return ok(`${none}: a fresh database.`);
  }
  const catalog = describeCatalog(adoption);
  const isEmpty =
    adoption.catalogSchema !== undefined && adoption.engineEntities === 0;
  return isEmpty
    ? ok(`${none}, and ${catalog}, has nothing to adopt yet: a fresh database.`)
    : {
        level: force ? 'warning' : 'failure',
        message: `${none}, and ${catalog}, is not adopted.`,
        advice: `Next: ${step.command}, while the application goes on.`,
      };
}

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

/** The column of relations and refresh_state with the entity. */
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

/** A property that the partitioned tables do not get. */
interface LeftBehind {
  name: string;
  table: TenantTable;
  /** Its tablespace, if that is not the database's. */
  tablespace: string;
}

interface LeftBehindKind {
  query: string;
  message(list: string): string;
  advice(first: LeftBehind, context: PreflightContext): string;
}

const LEFT_BEHIND: LeftBehindKind[] = [
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

/** Storage properties that the partitioned tables do not get. */
export const storage: PreflightCheck = {
  name: 'storage',
  scope: 'tables',
  fine: 'Storage parameters, compression and statistics targets are carried over.',
  async run(context) {
    const { executor, facts } = context;
    const outcomes: Outcome[] = [];
    for (const { query, message, advice } of LEFT_BEHIND) {
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
    return outcomes;
  },
};
