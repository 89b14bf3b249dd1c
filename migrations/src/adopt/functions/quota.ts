import { DEFAULT_TENANT_ID } from '../../schema/tables';
import { ENGINE_PARAMETERS, functionSettings } from './support';
import type { Target } from './support';

/**
 * The sequence, beside the engine's tables, that spares most inserts a count of the tenant's
 * entities. It is no part of a transaction, so every session sees the present value:
 *
 * - below {@link COUNTED}: no fewer than the live entities of the tenant, those of open
 *   transactions included. An insert adds one before it is made, and a rollback takes
 *   nothing back;
 * - from {@link COUNTED} on: the time, in milliseconds, at which a count found no room. For
 *   {@link FULL_MS} nothing is counted again.
 */
export const QUOTA_SEQUENCE = 'tenancy_adoption_quota';

const COUNTED = '4503599627370496';
const FULL_MS = 1000;

/** Says that a tenant has no room. Retries look for it. */
export const NO_ROOM = '54000';

/** A new sequence has counted nothing: the first insert counts. */
export function createQuotaStatement(schema: string): string {
  return `create sequence if not exists ${schema}.${QUOTA_SEQUENCE} minvalue 0 start ${COUNTED}`;
}

export function dropQuotaStatement(schema: string): string {
  return `drop sequence if exists ${schema}.${QUOTA_SEQUENCE}`;
}

const SEQUENCE = `to_regclass(format('%I.${QUOTA_SEQUENCE}', p_engine))`;
export const IS_LIMITED = `p_tenant <> '${DEFAULT_TENANT_ID}'`;

/** Precedes what makes an entity live. The catalog of the default tenant has no limit. */
export const RESERVE = `if ${IS_LIMITED} then
      perform adoption_reserve(p_tenant, p_engine);
    end if;`;

/** Follows what deletes entities: there may be room at once. */
export const RELEASE = `if found and ${IS_LIMITED} then
    perform adoption_release(p_engine);
  end if;`;

// Beside the lock of the operator, 7007.
const LOCK = `7008, hashtext(p_tenant::text)`;

const PASSES = 20;
const PAUSE_S = 0.01;

/**
 * The function that fails with 54000 where a tenant may have no further entity.
 *
 * Every insert shares an advisory lock to the end of its transaction. A count needs it
 * exclusively: then no insert is under way that the count could not see. It gives it back at
 * once, because a lock that a subtransaction took goes with its rollback.
 *
 * It never waits for the lock but tries, for at most 0.2 s: a session that waits for a row
 * of ours could otherwise be chosen as the victim of a deadlock, and that is the engine's.
 * Where it has no success, it fails with 40001: the trigger tries again, and keeps the
 * entity aside in the end.
 */
export function createReserve(target: Target): string {
  const milliseconds = `(extract(epoch from clock_timestamp()) * 1000)::bigint`;
  return `create or replace function adoption_reserve(${ENGINE_PARAMETERS})
returns void language plpgsql ${functionSettings(target)} as $$
declare
  v_sequence regclass := ${SEQUENCE};
  v_max bigint;
  v_value bigint;
  v_live bigint;
  v_counted boolean;
begin
  select max_entities into v_max from tenants where tenant_id = p_tenant;
  if v_max is null then
    return;
  end if;
  if v_sequence is null then
    raise exception 'the sequence ${QUOTA_SEQUENCE} of the engine is missing'
      using errcode = 'check_violation';
  end if;
  for pass in 1 .. ${PASSES} loop
    v_value := coalesce(pg_sequence_last_value(v_sequence), ${COUNTED});
    v_counted := false;
    if v_value < v_max then
      if pg_try_advisory_xact_lock_shared(${LOCK}) and nextval(v_sequence) <= v_max then
        return;
      end if;
    elsif ${milliseconds} - (v_value - ${COUNTED}) between 0 and ${FULL_MS} then
      raise exception 'the tenant has as many entities as it may have: % (max_entities)', v_max
        using errcode = '${NO_ROOM}';
    elsif current_setting('transaction_isolation') <> 'read committed' then
      raise exception 'the transaction may not see all entities of the tenant'
        using errcode = 'serialization_failure';
    else
      begin
        if pg_try_advisory_xact_lock(${LOCK}) then
          select count(*) into v_live from entities
           where tenant_id = p_tenant and deleted_at is null;
          perform setval(v_sequence, case when v_live < v_max then v_live
            else ${COUNTED} + ${milliseconds} end);
          raise exception using errcode = 'TQ000', message = 'counted';
        end if;
      exception when sqlstate 'TQ000' then
        v_counted := true;
      end;
    end if;
    if not v_counted then
      perform pg_sleep(${PAUSE_S});
    end if;
  end loop;
  raise exception 'the entities of the tenant could not be counted beside other writes'
    using errcode = 'serialization_failure';
end $$`;
}

/** The function that lets the next insert count again, where the last count found no room. */
export function createRelease(target: Target): string {
  return `create or replace function adoption_release(p_engine text)
returns void language plpgsql ${functionSettings(target)} as $$
declare
  v_sequence regclass := ${SEQUENCE};
begin
  if pg_sequence_last_value(v_sequence) > ${COUNTED} then
    perform setval(v_sequence, ${COUNTED});
  end if;
end $$`;
}
