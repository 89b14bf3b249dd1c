import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { escapeIdentifier } from 'pg';
import type { LeaseStore } from './LeaseStore';

/**
 * The engines that sleep, and when each is to start: `wake_at` of `engine_status`, shared by
 * all processes. One look-up in its index finds the due engines of all tenants of this process.
 *
 * It uses the sessions of the leases, which a fence ends: a process that has lost a lease can't
 * write that the tenant's engine sleeps.
 */
export class WakeTimes {
  readonly #query: LeaseStore['query'];
  readonly #processId: string;
  readonly #digest: string;
  readonly #name: (table: string) => string;

  /** @param options - `digest`: of what all engines of this process run with */
  constructor(options: {
    query: LeaseStore['query'];
    processId: string;
    schema: string;
    digest: string;
  }) {
    this.#query = options.query;
    this.#processId = options.processId;
    this.#digest = options.digest;
    this.#name = table => `${escapeIdentifier(options.schema)}.${table}`;
  }

  /**
   * Those of some engines that are to run: all that have not gone to sleep, that are due, that
   * have no tables, or that went to sleep with another configuration or release.
   */
  async findToRun(tenantIds: string[]): Promise<string[]> {
    const rows = await this.#query<{ id: string }>(
      `select t.id from unnest($1::uuid[], $3::text[]) t (id, schema)
         left join ${this.#name('engine_status')} s on s.tenant_id = t.id
         left join ${this.#name('tenant_engines')} e on e.tenant_id = t.id
        where s.wake_at is null or s.wake_at <= now() or to_regnamespace(t.schema) is null
           or s.slept_with is distinct from
              ${digestOf('$2', `coalesce(e.catalog_config, 'null')`)}`,
      [tenantIds, this.#digest, tenantIds.map(engineSchemaOf)],
    );
    return rows.map(({ id }) => id);
  }

  /** The engines that are due, of the tenants whose leases this process has. */
  async findDue(): Promise<string[]> {
    const rows = await this.#query<{ id: string }>(
      `select s.tenant_id as id from ${this.#name('engine_status')} s
         join ${this.#name('engine_leases')} l using (tenant_id)
        where s.wake_at <= now() and l.process_id = $1`,
      [this.#processId],
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Notes that an engine sleeps, with what is in the registry for it, before it stops.
   *
   * @returns whether it may sleep: this process still has its lease
   */
  async sleep(
    tenantId: string,
    { config, ms }: { config: string; ms: number },
  ): Promise<boolean> {
    // Locks for this one statement: the row of the status, and the row of the lease (KEY
    // SHARE), so that a process that takes the lease sees this write.
    const rows = await this.#query(
      `with held as (
         select tenant_id from ${this.#name('engine_leases')}
          where tenant_id = $1 and process_id = $2 for key share)
       update ${this.#name('engine_status')} s
          set wake_at = now() + $3 * interval '1 ms', slept_with = ${digestOf(
            '$4',
            '$5::jsonb',
          )}
         from held where s.tenant_id = held.tenant_id
       returning s.tenant_id`,
      [tenantId, this.#processId, ms, this.#digest, config],
    );
    return rows.length > 0;
  }

  /**
   * Notes that engines run here, before they start. It does nothing for a tenant whose lease
   * another process has.
   */
  async awaken(tenantIds: string[]): Promise<void> {
    // Locks: these rows, for this one statement.
    await this.#query(
      `update ${this.#name('engine_status')} s
          set wake_at = null, slept_with = null
         from ${this.#name('engine_leases')} l
        where s.tenant_id = any ($1::uuid[]) and s.wake_at is not null
          and l.tenant_id = s.tenant_id and l.process_id = $2`,
      [tenantIds, this.#processId],
    );
  }
}

function digestOf(process: string, config: string): string {
  return `encode(sha256(convert_to(${process} || ${config}::text, 'UTF8')), 'hex')`;
}
