import { TERM_STORAGE } from '../../phases/phase5_partitions/90_entity_terms/tables';
import { escapeIdentifier } from '../../sql';
import { enumerate } from '../../text';
import { ok, warning } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

/** The parameters of a table; without a value, those of the server apply. */
type Parameters = Record<string, string | undefined>;

const SEARCH = 'entity_terms';

const LOCKS =
  'It takes SHARE UPDATE EXCLUSIVE on the table for a change of the catalog, which no read ' +
  'and no write waits for.';

/**
 * Whether autovacuum comes to `entity_terms` in time, by what the server and the table
 * have. The reasons are in docs/operators/performance.md.
 */
export const autovacuum: PreflightCheck = {
  name: 'autovacuum',
  scope: 'server',
  async run(context) {
    const server = await readServer(context);
    const outcomes = [
      ...judgeServer(server),
      ...(await judgeSearch(context, server)),
      ...(await judgePartitions(context)),
    ];
    return outcomes.length > 0 ? outcomes : [await describe(context)];
  },
};

/** Milliseconds and plain numbers, as pg_settings has them. */
async function readServer({ executor }: PreflightContext): Promise<Parameters> {
  const rows = await executor.read<{ name: string; setting: string }>(
    `select name, setting from pg_settings
      where name like 'autovacuum%' or name in ('track_counts', 'vacuum_cost_limit', 'vacuum_cost_delay')`,
  );
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}

function judgeServer(server: Parameters): Outcome[] {
  const off = ['autovacuum', 'track_counts'].filter(
    name => server[name] === 'off',
  );
  return off.length === 0
    ? []
    : [
        warning(
          `On the server, ${off.join(
            ' and ',
          )} is off: dead rows of entity_terms ` +
            'stay, its statistics grow old, and reads get slower with each write.',
          {
            advice: 'Turn it on where it was turned off.',
            sql: [
              ...off.map(name => `alter system set ${name} = on;`),
              'select pg_reload_conf();',
            ].join('\n'),
          },
        ),
      ];
}

/** What `entity_terms` has, of its own or from the server, against what is advised. */
async function judgeSearch(
  context: PreflightContext,
  server: Parameters,
): Promise<Outcome[]> {
  const own = await readSearch(context);
  if (!own) {
    return [];
  }
  const table = `${escapeIdentifier(context.settings.schema)}.${SEARCH}`;
  const late = Object.entries(TERM_STORAGE).flatMap(([name, advised]) => {
    const found = own[name] ?? server[name];
    return found !== undefined && Number(found) > Number(advised)
      ? [{ name, advised, found, own: name in own }]
      : [];
  });
  const outcomes: Outcome[] = judgePace(own, server, table);
  if (late.length > 0) {
    const list = late.map(
      ({ name, found, own: itsOwn }) =>
        `${name} is ${found}${itsOwn ? '' : ", the server's"}`,
    );
    outcomes.push(
      warning(`Autovacuum comes late to entity_terms: ${enumerate(list)}.`, {
        advice: `Run this as the owner of the table. ${LOCKS}`,
        sql: `alter table ${table} set (${late
          .map(({ name, advised }) => `${name} = ${advised}`)
          .join(', ')});`,
        details: late,
      }),
    );
  }
  if (own.enabled === 'false') {
    outcomes.push(
      warning('Autovacuum is off for entity_terms.', {
        advice: `Run this as the owner of the table. ${LOCKS}`,
        sql: `alter table ${table} reset (autovacuum_enabled);`,
      }),
    );
  }
  return outcomes;
}

/** What autovacuum may do in a millisecond by PostgreSQL's own settings. */
const COST_LIMIT = 200;
const COST_DELAY_MS = 2;

/** Whether autovacuum pauses at the table for longer than PostgreSQL's defaults have it. */
function judgePace(
  own: Parameters,
  server: Parameters,
  table: string,
): Outcome[] {
  // Below 0, autovacuum takes what VACUUM has.
  const effective = (name: string) =>
    [own, server]
      .map(each => Number(each[`autovacuum_${name}`] ?? -1))
      .find(value => value >= 0) ?? Number(server[name]);
  const limit = effective('vacuum_cost_limit') || COST_LIMIT;
  const delay = effective('vacuum_cost_delay');
  return limit / delay >= COST_LIMIT / COST_DELAY_MS
    ? []
    : [
        warning(
          `Autovacuum is slow at entity_terms: it pauses for ${delay} ms after each ${limit} of ` +
            `its cost, where PostgreSQL's defaults are ${COST_DELAY_MS} ms and ${COST_LIMIT}.`,
          {
            advice: `Run this as the owner of the table. ${LOCKS}`,
            sql:
              `alter table ${table} set (autovacuum_vacuum_cost_delay = ${COST_DELAY_MS}, ` +
              `autovacuum_vacuum_cost_limit = ${COST_LIMIT});`,
          },
        ),
      ];
}

/** Its storage parameters; nothing before phase 5 has created it. */
async function readSearch({
  executor,
  settings,
}: PreflightContext): Promise<Parameters | undefined> {
  const [found] = await executor.read<{ parameters: Parameters | null }>(
    // PostgreSQL reads a boolean in many ways, such as any beginning of "false".
    `select (select jsonb_object_agg(option_name, option_value)
                      || coalesce(jsonb_object_agg('enabled', option_value::boolean::text)
                           filter (where option_name = 'autovacuum_enabled'), '{}')
               from pg_options_to_table(c.reloptions)) as parameters
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = $2 and c.relkind = 'r'`,
    [settings.schema, SEARCH],
  );
  return found && (found.parameters ?? {});
}

// PostgreSQL takes no storage parameters on a partitioned table: each partition has its own.
async function judgePartitions({
  executor,
  facts,
}: PreflightContext): Promise<Outcome[]> {
  const rows = await executor.read<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name
       from unnest($1::oid[]) root (id), pg_partition_tree(root.id) part
       join pg_class c on c.oid = part.relid
       join pg_namespace n on n.oid = c.relnamespace,
            pg_options_to_table(c.reloptions)
      where part.isleaf and option_name = 'autovacuum_enabled' and not option_value::boolean
      order by 1`,
    [facts.tables.map(({ oid }) => oid)],
  );
  return rows.length === 0
    ? []
    : [
        warning(
          `Autovacuum is off for partitions: ${enumerate(
            rows.map(({ name }) => name),
          )}.`,
          {
            advice: `Run this as the owner of the tables. ${LOCKS}`,
            sql: rows
              .map(
                ({ name }) => `alter table ${name} reset (autovacuum_enabled);`,
              )
              .join('\n'),
            details: rows,
          },
        ),
      ];
}

async function describe(context: PreflightContext): Promise<Outcome> {
  const partitions = context.facts.swapped
    ? ' Each partition of the others has settings of its own, for which those of the server do.'
    : '';
  return ok(
    (await readSearch(context))
      ? `It is on, and comes to entity_terms as often as is advised.${partitions}`
      : 'It is on. Phase 5 creates entity_terms with the settings that are advised.',
  );
}
