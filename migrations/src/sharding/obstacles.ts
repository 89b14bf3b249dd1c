import type { QueryRows } from '../checks/Finding';
import type { Executor } from '../engine/Executor';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { operatorCommand } from '../operatorCommand';
import { TERM_TRIGGERS } from '../phases/phase5_partitions/15_search_tables/triggers';
import { OWN_TABLES } from '../ownTables';
import { readDependents, refuseDependentsOf } from '../schema/dependents';
import { isSwapped, oldName } from '../schema/partitions';
import { TENANT_POLICY } from '../schema/policies';
import { TENANT_TABLES } from '../schema/tables';
import {
  citusVersion,
  nodeName,
  readNodes,
  SHARDED_TABLES,
} from '../schema/citus';

/** Tested with it: see docs/operators/sharding.md. */
const LEAST_VERSION = 13;

/**
 * What keeps a catalog from being distributed, each with what to do about it. Reads catalogs
 * alone.
 */
export async function findObstacles(
  migration: TenancyMigration,
): Promise<string[]> {
  const { context } = migration;
  const { executor } = context;
  const { read } = executor;
  const version = await citusVersion(read);
  if (!version) {
    return [
      'This database has no extension citus: install it on every server, and run "create extension citus" on each.',
    ];
  }
  const found: string[] = [];
  if (Number.parseInt(version, 10) < LEAST_VERSION) {
    found.push(`It has Citus ${version}: ${LEAST_VERSION} or later is needed.`);
  }
  if (!(await isSuperuser(executor))) {
    found.push('The login is no superuser, which Citus demands for this.');
  }
  if ((await migration.completedPhase()) < 5 || !(await isSwapped(executor))) {
    found.push(
      `Phase 5 is not complete ("${operatorCommand(
        'status',
      )}" names what comes next).`,
    );
    return found;
  }
  found.push(...(await obstaclesOfNodes(read)));
  found.push(...(await obstaclesOfTables(executor)));
  return found;
}

export async function isSuperuser(executor: Executor): Promise<boolean> {
  const [{ superuser }] = await executor.read<{ superuser: boolean }>(
    `select rolsuper as superuser from pg_roles where rolname = current_user`,
  );
  return superuser;
}

/**
 * The way back drops the tables, and Citus brings no registry back to which others refer.
 *
 * @throws {@link RefusedError} with what of the operator's hangs on them
 */
export async function refuseDependentsOfDistributed(
  executor: Executor,
): Promise<void> {
  await refuseDependentsOf(
    executor,
    SHARDED_TABLES,
    ['tenants'],
    OWN_TABLES.map(({ name }) => name),
  );
}

async function obstaclesOfNodes(read: QueryRows): Promise<string[]> {
  const nodes = await readNodes(read);
  const coordinator = nodes.find(({ isCoordinator }) => isCoordinator);
  const workers = nodes.filter(({ isCoordinator }) => !isCoordinator);
  return [
    ...(coordinator
      ? []
      : [
          'The coordinator is no node of its own cluster: run "select citus_set_coordinator_host(\'<host>\')".',
        ]),
    ...(coordinator?.holdsShards
      ? [
          'Rows of tenants would be put on the coordinator, where SQL of the application could set ' +
            `another tenant: run "select citus_set_node_property('${coordinator.host}', ${coordinator.port}, 'shouldhaveshards', false)".`,
        ]
      : []),
    ...(workers.some(({ holdsShards, isActive }) => holdsShards && isActive)
      ? []
      : [
          'There is no active node for the rows: run "select citus_add_node(\'<host>\', <port>)" for each.',
        ]),
    ...workers
      .filter(({ isActive }) => !isActive)
      .map(node => `The node ${nodeName(node)} is not active.`),
  ];
}

/** What of the tables the new ones would lose, or Citus would refuse. */
async function obstaclesOfTables(executor: Executor): Promise<string[]> {
  const rows = await executor.read<{ problem: string }>(
    `with own as (
       select c.oid, c.relname from pg_class c
        where c.relnamespace = quote_ident(current_schema())::regnamespace
          and c.relname = any ($1)
     ), stored as (
       select oid, oid as root, relname from own
        union
       select t.relid, o.oid, o.relname from own o, pg_partition_tree(o.oid) t
     )
     select format('%s has the trigger %s: Citus would fire it on every shard. Drop it.', o.relname, g.tgname) as problem
       from own o join pg_trigger g on g.tgrelid = o.oid and not g.tgisinternal
      where g.tgname <> all ($2)
      union all
     select format('%s has the policy %s beside ${TENANT_POLICY}, which the new table would not have.', o.relname, p.polname)
       from own o join pg_policy p on p.polrelid = o.oid where p.polname <> '${TENANT_POLICY}'
      union all
     select format('%s has the column %s with a sequence or an identity, of which each node would have its own numbers.', o.relname, a.attname)
       from own o join pg_attribute a on a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped
       left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attidentity <> '' or pg_get_expr(d.adbin, d.adrelid) like 'nextval(%'
      union all
     select format('%s has rights on the column %s, which the new table would not have.', o.relname, a.attname)
       from own o join pg_attribute a on a.attrelid = o.oid and a.attacl is not null
      union all
     select format('%s has the statistics %s, which the new table would not have.', o.relname, s.stxname)
       from own o join pg_statistic_ext s on s.stxrelid = o.oid
      union all
     select distinct format('%s is published by %s: logical replication does not follow shards.', s.relname, p.pubname)
       from stored s join pg_publication_rel b on b.prrelid = s.oid join pg_publication p on p.oid = b.prpubid
      union all
     select format('%s is still there: run "%s" first.', c.relname, $4::text)
       from pg_class c
      where c.relnamespace = quote_ident(current_schema())::regnamespace
        and c.relname = any ($3)`,
    [
      [...SHARDED_TABLES],
      TERM_TRIGGERS,
      TENANT_TABLES.map(oldName),
      operatorCommand('cleanup'),
    ],
  );
  const dependents = await readDependents(executor, SHARDED_TABLES);
  return [
    ...rows.map(({ problem }) => problem),
    ...dependents.map(
      ({ name, statement }) =>
        `The new tables would not have ${name}.${
          statement ? ` Drop it: run "${statement}".` : ''
        }`,
    ),
  ];
}
