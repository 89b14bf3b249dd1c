import { ADMIN_ROLE } from '../roles';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { ENGINE_TABLES, engineTable, parseTenantId } from './engine';
import type { Engine, EngineTable } from './engine';
import { createQuotaStatement } from './quota';
import {
  createTriggerStatements,
  dropTriggers,
  enableTriggers,
  tablesWithoutTriggers,
} from './triggers';
import type { Read } from './triggers';
import { privilegesOn } from './rights';
import { ADOPTION_STATE, putState } from './state';

/**
 * An engine that a tenant gets.
 *
 * @public
 */
export interface AttachOptions {
  /** The schema of the tenants' tables: `tenancy`. */
  schema: string;
  /** The tenant, which is not the default one. */
  tenantId: string;
  /** The schema of the engine's tables; see {@link engineSchemaOf}. */
  catalogSchema: string;
}

/**
 * The statements that attach an engine to a tenant: from then on triggers carry what the
 * engine writes to the tenant's rows, in the transaction of each change.
 *
 * Run them in one transaction, on a database on which phase 5 is complete. The tables of the
 * engine are empty, and best created in the same transaction; those with rows are for
 * {@link adopt}. The login owns the schema and the tables, and may act as `portal_admin`
 * (`grant portal_admin to <login>`, with or without INHERIT): it needs no superuser. The
 * statements name every object with its schema, and depend on no search path; the
 * transaction goes on as the login of the session.
 *
 * They raise an error where the tables are not empty (55000), the tenant has another engine
 * (23505), or this version of adoption is not prepared (55000).
 *
 * Entities that the tenant has already stay, such as those of an engine whose schema was
 * dropped: each is replaced as soon as the engine has it, and {@link adopt} removes those that
 * it does not have.
 *
 * @throws `TypeError` if the tenant's id is no UUID, or the default tenant's
 * @public
 */
export function attachEngine(options: AttachOptions): string[] {
  const engine = engineOf(options);
  const { tenantId } = engine;
  const ours = escapeIdentifier(options.schema);
  const state = `${ours}.${ADOPTION_STATE}`;
  const attached = `${state} where tenant_id = ${escapeLiteral(
    tenantId,
  )} and key = 'engine'`;
  const tables = ENGINE_TABLES.map(table => engineTable(engine, table));
  const privileges = privilegesOn(engine);
  return [
    refuseIf(
      tables.map(table => `exists (select from ${table})`).join(' or '),
      'the tables of the engine have rows: adopt it, which copies them',
      '55000',
    ),
    createQuotaStatement(escapeIdentifier(engine.schema)),
    ...triggersOn(engine, ours, ENGINE_TABLES, [
      refuseIf(
        `to_regprocedure(${escapeLiteral(
          `${ours}.adoption_put(uuid, text, text)`,
        )}) is null`,
        'the tables are not prepared for engines of tenants: run phase 5 again',
        '55000',
      ),
      refuseIf(
        `exists (select from ${attached}
       and value ->> 'schema' <> ${escapeLiteral(engine.schema)})`,
        'the tenant has an engine already',
        '23505',
      ),
      putState(tenantId, 'engine', { schema: engine.schema }, state),
      putState(tenantId, 'copy', { after: '', done: true }, state),
      putState(
        tenantId,
        'grants',
        privileges.map(each => `revoke ${each} from ${ADMIN_ROLE}`),
        state,
      ),
    ]),
  ];
}

/** The statements that create triggers on tables of an engine, after others as `portal_admin`. */
function triggersOn(
  engine: Engine,
  ours: string,
  tables: readonly EngineTable[],
  before: string[] = [],
): string[] {
  const trigger = `trigger on table ${tables
    .map(table => engineTable(engine, table))
    .join(', ')}`;
  return [
    ...privilegesOn(engine).map(each => `grant ${each} to ${ADMIN_ROLE}`),
    // Only its owner may let a trigger call a function, and triggers on a table need this.
    `grant ${trigger} to ${ADMIN_ROLE}`,
    `set local role ${ADMIN_ROLE}`,
    ...before,
    ...tables.flatMap(table =>
      createTriggerStatements(engine, table, `${ours}.`),
    ),
    'reset role',
    ...tables.flatMap(table => enableTriggers(engine, table)),
    `revoke ${trigger} from ${ADMIN_ROLE}`,
  ];
}

/**
 * Creates the triggers of an attached engine again on those of its tables that lack one, such
 * as a table that a migration of the catalog has replaced by another. Call it in the
 * transaction of that migration: what is written to the table afterwards is carried.
 *
 * Locks: SHARE ROW EXCLUSIVE on the tables that lack a trigger, until the transaction ends.
 * A transaction that created them has ACCESS EXCLUSIVE already. None where all are there.
 *
 * @param query - runs a statement in the caller's transaction, as the login of
 *   {@link attachEngine}, and resolves with its rows
 * @returns the tables that lacked a trigger
 * @throws `TypeError` if the tenant's id is no UUID, or the default tenant's; what `query`
 *   throws, such as 42P01 where a table is gone
 * @public
 */
export async function restoreEngineTriggers(
  options: AttachOptions,
  query: <Row extends object>(
    sql: string,
    values?: unknown[],
  ) => Promise<Row[]>,
): Promise<string[]> {
  const engine = engineOf(options);
  const read: Read = (sql, values) => query(sql, values);
  const missing = await tablesWithoutTriggers({ read }, engine, options.schema);
  if (missing.length === 0) {
    return missing;
  }
  await query(
    [
      ...missing.flatMap(table => dropTriggers(engine, table)),
      // A table that was replaced has lost its rights too.
      ...triggersOn(engine, escapeIdentifier(options.schema), missing),
    ].join(';\n'),
  );
  return missing;
}

function engineOf({ tenantId, catalogSchema }: AttachOptions): Engine {
  const id = parseTenantId(tenantId);
  if (id === DEFAULT_TENANT_ID) {
    throw new TypeError(
      'The engine of the default tenant is the stock catalog: adopt it.',
    );
  }
  return { schema: catalogSchema, tenantId: id };
}

function refuseIf(condition: string, reason: string, code: string): string {
  return `do ${escapeLiteral(`begin
  if ${condition} then
    raise exception using message = ${escapeLiteral(
      reason,
    )}, errcode = '${code}';
  end if;
end`)}`;
}
