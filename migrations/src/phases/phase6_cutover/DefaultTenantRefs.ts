import type { Executor } from '../../engine/Executor';
import { DEFAULT_TENANT_ID } from '../../schema/tables';
import { canonicalRef } from './TenantApplication';

const LIVE = `tenant_id = '${DEFAULT_TENANT_ID}' and deleted_at is null`;

/** What the database says about the live entities of the default tenant. */
export class DefaultTenantRefs {
  constructor(private readonly executor: Executor) {}

  async count(): Promise<number> {
    const [{ count }] = await this.executor.read<{ count: string }>(
      `select count(*) as count from entities where ${LIVE}`,
    );
    return Number(count);
  }

  async all(): Promise<string[]> {
    return this.refs(`select entity_ref from entities where ${LIVE}`);
  }

  /** So many of them, by chance. */
  async sample(size: number): Promise<string[]> {
    return this.refs(
      `select entity_ref from entities where ${LIVE} order by random() limit $1`,
      [size],
    );
  }

  /** Those of the references, in lower case, which are live. */
  async among(refs: string[]): Promise<string[]> {
    return this.refs(
      `select entity_ref from entities
        where ${LIVE} and lower(entity_ref) = any ($1)`,
      [refs],
    );
  }

  private async refs(sql: string, values?: unknown[]): Promise<string[]> {
    const rows = await this.executor.read<{ entity_ref: string }>(sql, values);
    return rows.map(row => canonicalRef(row.entity_ref));
  }
}
