import { ConflictError, NotFoundError } from '@backstage/errors';
import { parseInput } from '@internal/http-client';
import { pageSchema, putMemberSchema } from 'backstage-plugin-tenants-common';
import type { Knex } from 'knex';
import type { AdminDatabase } from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { assertDemands, type TenantChange } from '../tenants/changeTenant';
import { findActiveTenant } from '../tenants/activeTenant';
import { readPage } from '../tenants/readPage';
import { DEFAULT_TENANT_ID } from '../tenants/Tenant';
import { changeMembers } from './changeMembers';
import { normalizePrincipal, parsePrincipal } from './principals';
import type {
  Membership,
  ListMembers,
  TenantMember,
  TenantMembers,
  TenantRole,
} from './TenantMembers';

/** The columns of `tenant_members`, in the order in which the API shows them. */
const MEMBER_COLUMNS = [
  'principal',
  'role',
  'created_by',
  'created_at',
] as const satisfies (keyof TenantMember)[];

/** A row of `tenant_members`, as the driver returns it. */
interface MemberRow extends Omit<TenantMember, 'created_at'> {
  created_at: Date;
}

/**
 * A tenant that a caller may enter, with the total. Without any there is one row with the total
 * alone.
 */
type EnteredRow = { total: string } & (
  | Membership
  | { tenant_slug: null; tenant_name: null; role: null }
);

function toMember(row: MemberRow): TenantMember {
  return { ...row, created_at: row.created_at.toISOString() };
}

/**
 * The members of tenants. It checks no permissions.
 *
 * Changes take the administrator's path.
 *
 * A change locks the row of its tenant until the commit (FOR NO KEY UPDATE), and no table.
 *
 * @public
 */
export class TenantMemberStore {
  /**
   * @param options - `members`: the cache of this process, invalidated directly; other
   * processes are notified by NOTIFY
   */
  constructor(
    private readonly options: {
      pool: TenancyPool;
      admin: AdminDatabase;
      members: Pick<TenantMembers, 'forget'>;
    },
  ) {}

  /**
   * A page of the members of an active tenant, ordered by principal, and their total number.
   *
   * @throws `InputError` for what is out of bounds; `NotFoundError` if there is no such
   * tenant, or it is deleted
   */
  async list(
    tenantSlug: string,
    page: ListMembers = {},
  ): Promise<{ items: TenantMember[]; totalItems: number }> {
    const parsed = parseInput(pageSchema, page, 'query');
    const tenantId = await this.#findActive(tenantSlug);
    const { items, totalItems } = await readPage<MemberRow>(
      this.options.pool,
      parsed,
      knex => knex('tenant_members').where('tenant_id', tenantId),
      members =>
        members
          .select(MEMBER_COLUMNS)
          // The same order under every collation of the database.
          .orderByRaw('principal collate "C"'),
    );
    return { items: items.map(toMember), totalItems };
  }

  /**
   * A member of an active tenant; undefined if the principal is not a member.
   *
   * @throws `InputError` for an invalid principal; `NotFoundError` as in `list`
   */
  async get(
    tenantSlug: string,
    principal: string,
  ): Promise<TenantMember | undefined> {
    const parsed = parsePrincipal(principal);
    const tenantId = await this.#findActive(tenantSlug);
    const [row] = await this.options.pool.query<MemberRow>(knex =>
      selectMember(knex, tenantId, parsed),
    );
    return row && toMember(row);
  }

  /**
   * Adds a member to an active tenant, or changes the role of one.
   *
   * @param options - `by`: the user or service that makes the change; `keepAdmin`: refuses to
   * demote the last admin; `whileAdmin`: the principals of who makes the change as an admin of the
   * tenant, one of which must still be an admin when it is made; `demands`: of whether there is the
   * member
   * @throws `InputError` for an invalid principal or role; `NotFoundError` as in `list`;
   * `ConflictError` by `keepAdmin`; `NotAllowedError` by `whileAdmin`; `PreconditionFailedError` by
   * `demands`
   */
  async put(
    tenantSlug: string,
    member: { principal: string; role: TenantRole },
    options: {
      by: string;
      keepAdmin?: boolean;
      whileAdmin?: readonly string[];
      demands?: readonly boolean[];
    },
  ): Promise<{
    member: TenantMember;
    outcome: 'created' | 'changed' | 'unchanged';
  }> {
    const principal = parsePrincipal(member.principal);
    const { role } = parseInput(
      putMemberSchema,
      { role: member.role },
      'member',
    );
    return this.#change('put a member', tenantSlug, options, async change => {
      const { transaction, tenantId } = change;
      const { knex } = transaction;
      const [before] = await transaction.query<MemberRow>(
        selectMember(knex, tenantId, principal),
      );
      assertDemands(before !== undefined, 'the member', options.demands);
      if (before?.role === role) {
        return { member: toMember(before), outcome: 'unchanged' as const };
      }
      if (before?.role === 'admin' && options.keepAdmin) {
        await refuseLastAdmin(change, principal);
      }
      const [after] = await transaction.query<MemberRow>(
        knex('tenant_members')
          .insert({
            tenant_id: tenantId,
            principal,
            role,
            created_by: options.by,
          })
          .onConflict(['tenant_id', 'principal'])
          .merge(['role'])
          .returning(MEMBER_COLUMNS),
      );
      if (before?.role === 'admin') {
        await revokeInvitationsBy(change, principal);
      }
      return {
        member: toMember(after),
        outcome: before ? ('changed' as const) : ('created' as const),
      };
    });
  }

  /**
   * Removes a member of an active tenant, with immediate effect.
   *
   * @param options - `keepAdmin`: refuses to remove the last admin; `whileAdmin`: as in `put`
   * @throws `InputError` for an invalid principal; `NotFoundError` if it is not a member, or as
   * in `list`; `ConflictError` by `keepAdmin`; `NotAllowedError` by `whileAdmin`
   */
  async remove(
    tenantSlug: string,
    principal: string,
    options: { keepAdmin?: boolean; whileAdmin?: readonly string[] } = {},
  ): Promise<void> {
    const parsed = parsePrincipal(principal);
    await this.#change('remove a member', tenantSlug, options, async change => {
      const { transaction, tenantId } = change;
      const { knex } = transaction;
      const [removed] = await transaction.query<{ role: TenantRole }>(
        knex('tenant_members')
          .where({ tenant_id: tenantId, principal: parsed })
          .delete()
          .returning('role'),
      );
      if (!removed) {
        throw new NotFoundError(
          `${JSON.stringify(
            parsed,
          )} is not a member of the tenant '${tenantSlug}'`,
        );
      }
      if (removed.role === 'admin') {
        if (options.keepAdmin) {
          await refuseLastAdmin(change, parsed);
        }
        await revokeInvitationsBy(change, parsed);
      }
    });
  }

  /**
   * A page of the active tenants that a caller may enter, ordered by slug, and their total
   * number. One statement.
   *
   * @param principals - as in {@link TenantMembers.roleOf}
   * @param options - `beyond`: includes tenants that the caller may enter without membership,
   * the default tenant, all others or all, with the role `member`
   * @throws `InputError` for what is out of bounds
   */
  async tenantsOf(
    principals: readonly string[],
    options: ListMembers & { beyond?: 'default' | 'others' | 'all' } = {},
  ): Promise<{ items: Membership[]; totalItems: number }> {
    const { beyond, ...page } = options;
    const { limit, offset } = parseInput(pageSchema, page, 'query');
    const rows = await this.options.pool.query<EnteredRow>(knex => {
      const others = {
        default: 'select ?::uuid, null',
        others: 'select tenant_id, null from tenants where tenant_id <> ?',
        all: 'select tenant_id, null from tenants where ?::uuid is not null',
      };
      // Uses the index on principals; only `others` and `all` read the whole registry.
      return knex.raw(
        `with entered (tenant_id, role) as (
           select tenant_id, role from tenant_members where principal = any (?)
           ${beyond ? `union all ${others[beyond]}` : ''}
         ), page as (
           select t.tenant_slug, t.tenant_name,
                  case when bool_or(e.role = 'admin') then 'admin'
                       when bool_and(e.role = 'viewer') then 'viewer'
                       else 'member' end as role
             from entered e join tenants t on t.tenant_id = e.tenant_id
            where t.deleted_at is null
            group by t.tenant_id
         )
         select tenant_slug, tenant_name, role, total
           from (select count(*) as total from page) counted
           left join (select * from page order by tenant_slug collate "C" limit ? offset ?) p
             on true
          order by tenant_slug collate "C"`,
        [
          principals.map(normalizePrincipal),
          ...(beyond ? [DEFAULT_TENANT_ID] : []),
          limit,
          offset,
        ],
      );
    });
    return {
      items: rows.flatMap(({ tenant_slug, tenant_name, role }) =>
        tenant_slug === null ? [] : [{ tenant_slug, tenant_name, role }],
      ),
      totalItems: Number(rows[0].total),
    };
  }

  #change<T>(
    reason: string,
    tenant_slug: string,
    options: { whileAdmin?: readonly string[] },
    work: (change: TenantChange) => Promise<T>,
  ): Promise<T> {
    return changeMembers(this.options, reason, { tenant_slug }, work, options);
  }

  async #findActive(tenant_slug: string): Promise<string> {
    return (await findActiveTenant(this.options.pool, { tenant_slug }))
      .tenant_id;
  }
}

/** Refuses to leave a tenant without an admin. */
async function refuseLastAdmin(
  { transaction, tenantId, tenantSlug }: TenantChange,
  principal: string,
): Promise<void> {
  const others = await transaction.query(
    transaction
      .knex('tenant_members')
      .select('principal')
      .where({ tenant_id: tenantId, role: 'admin' })
      .whereNot('principal', principal)
      .limit(1),
  );
  if (others.length === 0) {
    throw new ConflictError(
      `${JSON.stringify(
        principal,
      )} is the last admin of the tenant '${tenantSlug}': ` +
        'make another member an admin first. An administrator in tenancy.admins may remove the last',
    );
  }
}

/**
 * A former admin could otherwise become admin again by an invitation kept for later. Who was in a
 * group is not known here: of all users, those stay valid whose author is an admin by name.
 */
async function revokeInvitationsBy(
  { transaction, tenantId }: TenantChange,
  principal: string,
): Promise<void> {
  const { knex } = transaction;
  const open = knex('tenant_invitations')
    .where('tenant_id', tenantId)
    .whereNull('accepted_at');
  const admins = knex('tenant_members')
    .select('principal')
    .where({ tenant_id: tenantId, role: 'admin' });
  const revoked = principal.startsWith('group:')
    ? open.whereLike('created_by', 'user:%').whereNotIn('created_by', admins)
    : open.where('created_by', principal);
  await transaction.query(revoked.delete());
}

function selectMember(knex: Knex, tenantId: string, principal: string) {
  return knex('tenant_members')
    .select(MEMBER_COLUMNS)
    .where({ tenant_id: tenantId, principal });
}
