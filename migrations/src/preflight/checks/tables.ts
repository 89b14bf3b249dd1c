import { readAdoptionStatus } from '../../adopt/status';
import { TENANT_TABLES } from '../../schema/tables';
import { escapeIdentifier } from '../../sql';
import {
  decideAdoption,
  describeCatalog,
  readCatalogTables,
} from '../../status/next';
import type { CatalogTables } from '../../status/next';
import { failure, ok } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';
import { enumerate, script } from '../../text';

interface Storage {
  name: string;
  /** Its name as SQL, with the schema. */
  sql: string;
  kind: string;
  persistence: string;
  inherits: boolean;
  /** The composite type that it is of, if any. */
  type: string | null;
  rules: string[];
}

const KINDS: Record<string, string> = {
  p: 'a partitioned table',
  f: 'a foreign table',
  v: 'a view',
  m: 'a materialized view',
};

/** All of the three tables are there, or none, and they are ordinary tables. */
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
}: PreflightContext): Promise<Storage[]> {
  return executor.read<Storage>(
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

function judgeStorage(table: Storage): Outcome[] {
  const { name, sql, kind, persistence, inherits, type, rules } = table;
  const outcomes: Outcome[] = [];
  if (kind !== 'r') {
    outcomes.push(
      failure(`${name} is ${KINDS[kind] ?? 'no table'}.`, {
        advice: 'An ordinary table is expected, which phase 5 partitions.',
      }),
    );
  } else if (inherits) {
    outcomes.push(
      failure(
        `${name} inherits from a table, is a partition, or is inherited from.`,
        {
          advice: 'Move its rows into an ordinary table that stands by itself.',
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

/** Without the three tables, the catalog to migrate is that of Backstage, or none. */
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
