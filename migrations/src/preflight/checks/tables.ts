import { TENANT_TABLES } from '../../schema/tables';
import { escapeIdentifier } from '../../schema/sql';
import { ENTITY_COLUMNS } from './columns';
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
    const elsewhere = missing.includes('entities')
      ? await findInPublic(context)
      : [];
    if (elsewhere.length > 0) {
      return elsewhere;
    }
    return found.length === 0
      ? [
          ok(
            `The schema ${settings.schema} has none of the three tables: a fresh database.`,
          ),
        ]
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
  const { name, sql, kind, persistence, inherits, rules } = table;
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

/** The tables of the specification's default schema, which nobody has named. */
async function findInPublic({
  executor,
  settings,
}: PreflightContext): Promise<Outcome[]> {
  if (settings.schema === 'public') {
    return [];
  }
  const rows = await executor.read<{ name: string; type: string }>(
    `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type
       from pg_attribute a
       join pg_class c on c.oid = a.attrelid
       join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'public' and c.relname = 'entities' and c.relkind = 'r'
        and a.attnum > 0 and not a.attisdropped`,
  );
  const types = Object.fromEntries(rows.map(({ name, type }) => [name, type]));
  const fits = Object.entries(ENTITY_COLUMNS).every(
    ([name, type]) => types[name] === type,
  );
  return fits
    ? [
        {
          level: settings.force ? 'warning' : 'failure',
          message: `The schema ${settings.schema} has no table entities, but the schema public has one that fits.`,
          advice:
            'Give --schema public. Or --force, if that is not the catalog to migrate.',
        },
      ]
    : [];
}
