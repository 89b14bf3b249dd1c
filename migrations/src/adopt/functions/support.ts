import { escapeIdentifier } from '../../sql';
import { DEFAULT_TENANT_ID } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import type { Engine } from '../engine';
import type { EngineTable } from '../names';

/** What the functions are made for. */
export interface Target {
  /** The schema of our tables. */
  schema: string;
  engine: Engine;
}

/**
 * What a function runs with, whoever's session it is. It needs no tenant set: phase 4
 * hands the functions to `portal_admin`, which bypasses the policies, before it
 * creates them, and its undo drops those first.
 */
export function functionSettings({ schema }: Target): string {
  // pg_temp last: nobody's temporary table takes the place of one of ours.
  return `set search_path = pg_catalog, ${escapeIdentifier(schema)}, pg_temp`;
}

/**
 * Whether each row of a table has its tenant at this moment: from phase 2 on. Before that
 * there are rows that wait for the backfill, and new ones get theirs by a default.
 */
export function hasTenant(table: TenantTable): string {
  return `exists (select from pg_attribute
    where attrelid = to_regclass('${table}') and attname = 'tenant_id' and attnotnull
      and not attisdropped)`;
}

/** The parts of a statement that differ where there is a tenant. */
export interface TenantParts {
  /** In front of a list of columns. */
  column: string;
  /** In front of a list of values. */
  value: string;
  /** In front of a condition; it also keeps a statement to one partition. */
  where: (alias?: string) => string;
}

const WITH_TENANT: TenantParts = {
  column: 'tenant_id, ',
  value: `'${DEFAULT_TENANT_ID}'::uuid, `,
  where: alias =>
    `${alias ? `${alias}.` : ''}tenant_id = '${DEFAULT_TENANT_ID}' and `,
};

const WITHOUT_TENANT: TenantParts = {
  column: '',
  value: '',
  where: () => '',
};

/**
 * A statement in both of its forms. PL/pgSQL plans the one that is run, so that the
 * other may name a column that is not there. From phase 4 on the column has no
 * default, and from phase 5 on a statement without it would go to every partition.
 */
export function byTenant(
  table: TenantTable,
  statement: (parts: TenantParts) => string,
): string {
  return `if ${hasTenant(table)} then
  ${statement(WITH_TENANT)};
else
  ${statement(WITHOUT_TENANT)};
end if;`;
}

// The engine makes them with randomUUID(). In another form two of its ids could
// mean the same one of ours.
export const UUID_PATTERN = `'^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`;

/** An error code of which another attempt may not know any more. */
const TRANSIENT = `sqlstate ~ '^(40|42|55)'`;

/** What a trigger does for a change of one of the engine's tables. */
export interface Carrying {
  table: EngineTable;
  /** Of the entity that the change is of; null where that is not known. */
  key: string;
  statements: string;
}

/**
 * Statements that are tried again where that may help. What fails for good is kept
 * aside, or where not even that is possible, is in the server's log: the engine's write
 * must not fail.
 */
export function attempted({ table, key, statements }: Carrying): string {
  return `for attempt in 1 .. 3 loop
    begin
      ${statements}
      exit;
    exception when others then
      if attempt = 3 or not ${TRANSIENT} then
        begin
          perform adoption_note('${table}', ${key}, sqlerrm, sqlstate);
        exception when others then
          raise warning 'catalog-tenancy: a change of ${table} is not carried: %', sqlerrm;
        end;
        exit;
      end if;
    end;
  end loop;`;
}

const PASSES = 100;

/**
 * Statements that are repeated until nothing is left over. Rows that others put back go
 * within a pass or two; those that can't be deleted, as by somebody's own trigger, must
 * not hold up the engine for ever.
 */
export function untilNothingIsLeft({
  statements,
  left,
}: {
  statements: string;
  left: string;
}): string {
  return `for pass in 1 .. ${PASSES} loop
    ${statements}
    exit when not exists (${left});
    if pass = ${PASSES} then
      raise exception 'rows of the default tenant can''t be deleted';
    end if;
  end loop`;
}

/** In front of what relies on seeing what others have committed. */
export const CHECK_SNAPSHOT = `if current_setting('transaction_isolation') <> 'read committed' then
  perform adoption_check_snapshot();
end if;`;
