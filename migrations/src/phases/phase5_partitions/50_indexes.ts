import { createHash } from 'node:crypto';
import type { Creation, Step } from '../../engine/Step';
import {
  catchAllPartition,
  defaultTenantPartition,
  identifyLike,
  waitingName,
  partitionedName,
} from '../../schema/partitions';
import { ENTITY_KEY, TENANT_TABLES } from '../../schema/tables';
import {
  CATCH_UP_SCRIPT,
  catchUp,
  provideReplay,
  replayFunction,
} from '../../copy/replay';
import { extensionSchema } from '../../schema/lookups';
import { describeCopies } from '../../copy/TableCopy';
import type { TableCopy } from '../../copy/TableCopy';
import type { Executor } from '../../engine/Executor';
import { escapeIdentifier, escapeLiteral } from '../../sql';
import type { TenantTable } from '../../schema/tables';

/** Every other index of the partitioned tables. */
export const indexes: Step = {
  name: '5_50_indexes',
  title: 'Build the indexes of the partitioned tables',

  async creates({ executor }) {
    const names = entityIndexes(partitionedName('entities'), '').map(
      ({ name }) => name,
    );
    for (const table of TENANT_TABLES) {
      const carried = await carriedIndexes(executor, {
        table,
        source: table,
        target: partitionedName(table),
        key: ENTITY_KEY[table],
      });
      names.push(...carried.map(({ name }) => name));
    }
    return [
      replayFunction,
      ...names.map((name): Creation => ({ kind: 'relation', name })),
    ];
  },

  async up(context) {
    const { executor, reporter } = context;
    const copies = await describeCopies(executor);
    const [entities] = copies;
    const all: PartitionedIndex[] = entityIndexes(
      entities.target,
      await extensionSchema(executor, 'pg_trgm'),
    );
    const replaced: string[] = [];
    for (const copy of copies) {
      const carried = await carriedIndexes(executor, copy);
      all.push(...carried);
      if (carried.some(({ ofEntity }) => ofEntity)) {
        replaced.push(replayIndex(copy.table));
      }
    }
    // A killed undo leaves the replay function of the way back.
    await provideReplay(executor, copies);
    // Unique indexes need the rows of one moment, not of several.
    await executor.work({
      title: 'Replay the change log',
      script: CATCH_UP_SCRIPT,
      run: session => catchUp(context, session),
    });
    for (const [position, { name, statement, comment }] of all.entries()) {
      reporter.info(`Index ${position + 1} of ${all.length}: ${name}`);
      // SHARE on a table that only this command writes to.
      await executor.execute(statement);
      if (comment) {
        await executor.execute(comment);
      }
    }
    for (const name of replaced) {
      await executor.execute(`drop index if exists ${name}`);
    }
    for (const table of TENANT_TABLES) {
      for (const target of [
        catchAllPartition(table),
        defaultTenantPartition(table),
        await waitingName(executor, table),
      ]) {
        await executor.execute(identifyLike(table, target));
      }
      // So that the first query after the swap has statistics.
      await executor.execute(
        `vacuum (analyze) ${defaultTenantPartition(table)}`,
      );
    }
  },

  // They are dropped with their tables.
  async down() {},
};

/** An index, or a constraint that an index implements. */
interface PartitionedIndex {
  name: string;
  /** Creates it unless it exists. */
  statement: string;
  /** Whether it is unique on the tenant and the entity. */
  ofEntity?: boolean;
  /** Copies the comment of the model. */
  comment?: string;
}

/** An index that a copy gets after one of its source. */
interface CarriedIndex extends PartitionedIndex {
  /** The name of the source's index. */
  source: string;
  unique: boolean;
  /** The constraint, or what follows the name of the table in CREATE INDEX. */
  body: string;
}

/** The index that the replay of the change log needs. */
export function replayIndex(table: TenantTable): string {
  return `${table}_partitioned_entity_idx`;
}

// fastupdate collects new entries of a GIN index in a list, which some writer has to merge:
// seconds, on a large table. Without it each writer updates the index itself.
const AT_ONCE = 'with (fastupdate = off)';

/**
 * The indexes that the specification names for entities (B.2), besides the primary
 * key.
 *
 * @param trigramSchema - the schema of the extension pg_trgm
 */
export function entityIndexes(
  target: string,
  trigramSchema: string,
): PartitionedIndex[] {
  const live = 'where deleted_at is null';
  return [
    constraint(
      target,
      'entities_partitioned_tenant_id_entity_ref_key',
      'unique (tenant_id, entity_ref)',
    ),
    index(
      target,
      'entities_partitioned_live_ref_idx',
      `(tenant_id, entity_ref) ${live}`,
    ),
    index(
      target,
      'entities_partitioned_live_kind_idx',
      `(tenant_id, entity_kind, created_at desc) ${live}`,
    ),
    index(
      target,
      'entities_partitioned_live_name_idx',
      `using gin (entity_name ${trigramSchema}.gin_trgm_ops) ${AT_ONCE} ${live}`,
    ),
    index(
      target,
      'entities_partitioned_final_entity_idx',
      `using gin (final_entity jsonb_path_ops) ${AT_ONCE}`,
    ),
  ];
}

interface SourceIndex {
  name: string;
  definition: string;
  unique: boolean;
  constraint: string | null;
  comment: string | null;
  /** Whether tenant_id is one of its keys. */
  hasTenant: boolean;
}

/**
 * The indexes of a copy's source, for its target, each with tenant_id in front. A unique
 * index must have it, or its violations would reveal rows of other tenants; the others find
 * a tenant's rows in the shared partition by it.
 */
export async function carriedIndexes(
  executor: Executor,
  {
    table,
    source,
    target,
    key,
  }: Pick<TableCopy, 'table' | 'source' | 'target' | 'key'>,
): Promise<CarriedIndex[]> {
  const rows = await executor.read<SourceIndex>(
    `select c.relname as name, pg_get_indexdef(i.indexrelid) as definition,
            i.indisunique as unique, pg_get_constraintdef(k.oid) as constraint,
            coalesce(obj_description(k.oid, 'pg_constraint'),
                     obj_description(i.indexrelid, 'pg_class')) as comment,
            exists (select from pg_attribute a
                     where a.attrelid = i.indrelid and a.attname = 'tenant_id'
                       and a.attnum = any ((i.indkey::int2[])[0:i.indnkeyatts - 1])) as "hasTenant"
       from pg_index i
       join pg_class c on c.oid = i.indexrelid
       left join pg_constraint k on k.conindid = i.indexrelid
                                and k.conrelid = i.indrelid and k.contype in ('p', 'u')
      where i.indrelid = to_regclass($1) and i.indisvalid
        and c.relname <> $1 || '_without_tenant_idx'
      order by c.relname`,
    [source],
  );
  const taken = [
    ...(table === 'entities' ? [`${source}_partitioned_pkey`] : []),
    replayIndex(table),
    ...entityIndexes(target, '').map(({ name }) => name),
  ];
  return rows
    .filter(row => !isReplaced(row, source, key))
    .map(row => {
      const name = carriedName(source, row.name, taken);
      taken.push(name);
      const body = row.constraint ?? bodyOf(row);
      const definition = row.hasTenant ? body : ledByTenant(body);
      return {
        ...(row.constraint
          ? constraint(target, name, definition)
          : index(target, name, definition, row.unique)),
        source: row.name,
        unique: row.unique,
        body: definition,
        comment: commentOn(row, name, target),
        ofEntity: row.unique && definition.endsWith(`(tenant_id, ${key})`),
      };
    });
}

/** Whether the specification's indexes replace this one. */
function isReplaced(
  { definition }: SourceIndex,
  source: string,
  key: string,
): boolean {
  const columns = /USING btree \((?:tenant_id, )?([a-z_]+)\)$/.exec(definition);
  return source === 'entities'
    ? ['entity_id', 'entity_ref'].includes(columns?.[1] ?? '')
    : columns?.[1] === key && !definition.startsWith('CREATE UNIQUE');
}

/** What follows the name of the table in CREATE INDEX. */
function bodyOf({ definition }: SourceIndex): string {
  return definition.slice(definition.indexOf(' USING ') + 1);
}

// A hash index has one column, and takes values too long for other indexes.
function ledByTenant(definition: string): string {
  return /^(USING btree|UNIQUE|PRIMARY KEY)\b/.test(definition)
    ? definition.replace('(', '(tenant_id, ')
    : definition;
}

function commentOn(
  { constraint: definition, comment }: SourceIndex,
  name: string,
  target: string,
): string | undefined {
  if (comment === null) {
    return undefined;
  }
  const object = definition
    ? `constraint ${escapeIdentifier(name)} on ${target}`
    : `index ${escapeIdentifier(name)}`;
  return `comment on ${object} is ${escapeLiteral(comment)}`;
}

/** PostgreSQL truncates names to this many bytes. */
const LONGEST_NAME = 63;

function carriedName(source: string, name: string, taken: string[]): string {
  const table = TENANT_TABLES.find(each => name.startsWith(`${each}_`));
  const rest = table ? name.slice(table.length + 1) : name;
  const wanted = `${source}_partitioned_${rest}`;
  if (Buffer.byteLength(wanted) <= LONGEST_NAME && !taken.includes(wanted)) {
    return wanted;
  }
  // Two truncated names may be equal.
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8);
  let beginning = wanted;
  while (Buffer.byteLength(`${beginning}_${mark}`) > LONGEST_NAME) {
    beginning = beginning.slice(0, -1);
  }
  return `${beginning}_${mark}`;
}

function index(
  target: string,
  name: string,
  on: string,
  unique = false,
): PartitionedIndex {
  return {
    name,
    statement:
      `create ${unique ? 'unique ' : ''}index if not exists ${escapeIdentifier(
        name,
      )} ` + `on ${target} ${on}`,
  };
}

function constraint(
  target: string,
  name: string,
  definition: string,
): PartitionedIndex {
  return {
    name,
    statement: `do $$ begin
  if to_regclass(quote_ident(${escapeLiteral(name)})) is null then
    alter table ${target} add constraint ${escapeIdentifier(
      name,
    )} ${definition};
  end if;
end $$`,
  };
}
