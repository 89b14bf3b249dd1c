import { LRUCache } from 'lru-cache';
import { highestRole } from 'backstage-plugin-tenants-common';
import type { TenancyPool } from '../pool/TenancyPool';
import type { ChangeListener } from '../tenants/ChangeListener';
import type { ActiveTenant } from '../tenants/TenantDirectory';
import { normalizePrincipal } from './principals';
import type { TenantMembers, TenantRole } from './TenantMembers';

// Principals of callers that were seen lately, members or not.
const MOST_PRINCIPALS = 50_000;

type Answer = TenantRole | 'none';

/**
 * {@link TenantMembers} that remembers answers while it is known to hear of changes.
 * While it does not hear, each look-up asks the database.
 */
export class CachingTenantMembers implements TenantMembers {
  readonly #pool: Pick<TenancyPool, 'query'>;
  readonly #listener: ChangeListener;
  readonly #answers: LRUCache<string, Answer>;
  readonly #underWay = new Map<string, Promise<Map<string, TenantRole>>>();
  // Of tenants whose members have changed: answers of an earlier epoch are not found.
  readonly #epochs = new Map<string, number>();
  // Moves with whatever may make an answer wrong that is still on its way.
  #generation = 0;

  constructor(options: {
    pool: Pick<TenancyPool, 'query'>;
    listener: ChangeListener;
    ttlMs: number;
  }) {
    this.#pool = options.pool;
    this.#listener = options.listener;
    this.#answers = new LRUCache({
      max: MOST_PRINCIPALS,
      ttl: options.ttlMs,
    });
    this.#listener.subscribe({
      onChange: change => {
        if ('membersOf' in change) {
          this.forget(change.membersOf);
        }
      },
      // When it begins to hear too: a look-up may have begun before that.
      onHearing: () => this.#forgetAll(),
    });
  }

  /** {@inheritDoc TenantMembers.roleOf} */
  async roleOf(
    tenant: ActiveTenant,
    principals: readonly string[],
  ): Promise<TenantRole | undefined> {
    const roles = await this.rolesOf(tenant, principals);
    return highestRole([...roles.values()]);
  }

  /** {@inheritDoc TenantMembers.rolesOf} */
  async rolesOf(
    { tenantId }: ActiveTenant,
    principals: readonly string[],
  ): Promise<Map<string, TenantRole>> {
    this.#listener.start();
    const answers = new Map<string, Answer | undefined>(
      principals
        .map(normalizePrincipal)
        .map(principal => [
          principal,
          this.#answers.get(this.#key(tenantId, principal)),
        ]),
    );
    const unknown = [...answers.keys()].filter(
      principal => answers.get(principal) === undefined,
    );
    const found =
      unknown.length > 0 ? await this.#lookUp(tenantId, unknown) : undefined;
    return new Map(
      [...answers].flatMap(([principal, answer]) => {
        const role = answer ?? found?.get(principal);
        return role && role !== 'none' ? [[principal, role]] : [];
      }),
    );
  }

  /** {@inheritDoc TenantMembers.forget} */
  forget(tenantId: string): void {
    this.#generation += 1;
    this.#epochs.set(tenantId, (this.#epochs.get(tenantId) ?? 0) + 1);
    // A later look-up must not get an earlier answer.
    this.#underWay.clear();
  }

  /** Those who ask the same at the same time share one query. */
  #lookUp(
    tenantId: string,
    principals: string[],
  ): Promise<Map<string, TenantRole>> {
    const question = JSON.stringify([tenantId, principals]);
    const underWay = this.#underWay.get(question);
    if (underWay) {
      return underWay;
    }
    const lookUp = this.#query(tenantId, principals).finally(() => {
      if (this.#underWay.get(question) === lookUp) {
        this.#underWay.delete(question);
      }
    });
    this.#underWay.set(question, lookUp);
    return lookUp;
  }

  async #query(
    tenantId: string,
    principals: string[],
  ): Promise<Map<string, TenantRole>> {
    const generation = this.#generation;
    const rows = await this.#pool.query<{
      principal: string;
      role: TenantRole;
    }>(knex =>
      knex('tenant_members')
        .select('principal', 'role')
        .where('tenant_id', tenantId)
        .whereRaw('principal = any (?)', [principals]),
    );
    const found = new Map(rows.map(({ principal, role }) => [principal, role]));
    if (this.#listener.hears && generation === this.#generation) {
      principals.forEach(each =>
        this.#answers.set(this.#key(tenantId, each), found.get(each) ?? 'none'),
      );
    }
    return found;
  }

  #key(tenantId: string, principal: string): string {
    return `${tenantId} ${this.#epochs.get(tenantId) ?? 0} ${principal}`;
  }

  #forgetAll(): void {
    this.#generation += 1;
    this.#answers.clear();
    this.#underWay.clear();
  }
}
