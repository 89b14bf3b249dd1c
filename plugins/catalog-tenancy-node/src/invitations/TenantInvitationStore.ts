import { ConflictError, NotFoundError } from '@backstage/errors';
import { parseInput } from '@internal/http-client';
import {
  type CreateInvitation,
  createInvitationSchema,
  highestRole,
  type ListMembers,
  type Membership,
  pageSchema,
  type TenantInvitation,
  type TenantRole,
} from 'backstage-plugin-tenants-common';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { AdminDatabase } from '../database/AdminDatabase';
import { changeMembers } from '../members/changeMembers';
import { normalizePrincipal } from '../members/principals';
import type { TenantMembers } from '../members/TenantMembers';
import type { TenancyPool } from '../pool/TenancyPool';
import { findActiveTenant } from '../tenants/activeTenant';
import { changeTenant, type TenantChange } from '../tenants/changeTenant';
import { readPage } from '../tenants/readPage';

const MOST_INVITATIONS = 500;
const KEPT_DAYS = 90;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The columns in the order of the API. */
const COLUMNS = `invitation_id as id, role, email, created_by, created_at, expires_at,
  case when accepted_at is not null then 'accepted'
       when expires_at <= now() then 'expired'
       else 'open' end as state,
  accepted_by, accepted_at`;

interface InvitationRow
  extends Omit<TenantInvitation, 'created_at' | 'expires_at' | 'accepted_at'> {
  created_at: Date;
  expires_at: Date;
  accepted_at: Date | null;
}

/** An acceptable invitation with its tenant. */
interface FoundInvitation {
  tenant_id: string;
  tenant_slug: string;
  tenant_name: string;
  /** The role of the user, if the same user has accepted it before. */
  role: TenantRole | null;
}

/**
 * Invitations into tenants. It checks no permissions.
 *
 * Creating, accepting and revoking lock the tenant's row until the commit (FOR NO KEY UPDATE),
 * as changes of members do, so all of these are serialized.
 *
 * @public
 */
export class TenantInvitationStore {
  constructor(
    private readonly options: {
      pool: TenancyPool;
      admin: AdminDatabase;
      members: Pick<TenantMembers, 'forget'>;
    },
  ) {}

  /**
   * A page of the invitations of an active tenant, newest first, and their total number.
   *
   * @throws `InputError` for what is out of bounds; `NotFoundError` if there is no such
   * tenant, or it is deleted
   */
  async list(
    tenantSlug: string,
    page: ListMembers = {},
  ): Promise<{ items: TenantInvitation[]; totalItems: number }> {
    const parsed = parseInput(pageSchema, page, 'query');
    const { pool } = this.options;
    const { tenant_id } = await findActiveTenant(pool, {
      tenant_slug: tenantSlug,
    });
    const { items, totalItems } = await readPage<InvitationRow>(
      pool,
      parsed,
      knex => knex('tenant_invitations').where({ tenant_id }),
      (invitations, knex) =>
        invitations
          .select(knex.raw(COLUMNS))
          .orderBy([{ column: 'created_at', order: 'desc' }, 'invitation_id']),
    );
    return { items: items.map(toInvitation), totalItems };
  }

  /**
   * Invites into an active tenant.
   *
   * @param options - `by`: who invites; `whileAdmin`: as of `TenantMemberStore.put`; `newId`: the
   * id, the same for each attempt: a further one replaces the invitation, whose token was lost
   * @returns the invitation, and the token that accepts it, of which only a hash is stored
   * @throws `InputError` for an invalid invitation; `NotFoundError` as in `list`;
   * `ConflictError` if the tenant has too many, or the invitation with `newId` was accepted;
   * `NotAllowedError` by `whileAdmin`
   */
  async create(
    tenantSlug: string,
    request: CreateInvitation,
    options: {
      by: string;
      whileAdmin?: readonly string[];
      newId?: string | null;
    },
  ): Promise<{
    invitation: TenantInvitation;
    tenantName: string;
    token: string;
  }> {
    const { role, email, valid_days } = parseInput(
      createInvitationSchema,
      request,
      'invitation',
    );
    const token = randomBytes(32).toString('base64url');
    const invitation_id = options.newId ?? randomUUID();
    return changeTenant(
      this.options,
      'create an invitation',
      { tenant_slug: tenantSlug },
      async ({ transaction, tenantId: tenant_id, tenantName }) => {
        const { knex } = transaction;
        await transaction.query(
          knex('tenant_invitations')
            .where({ tenant_id })
            .whereRaw('expires_at < now() - make_interval(days => ?)', [
              KEPT_DAYS,
            ])
            .delete(),
        );
        const [{ count }] = await transaction.query<{ count: string }>(
          knex('tenant_invitations')
            .where({ tenant_id })
            .whereNot({ invitation_id })
            .count({ count: '*' }),
        );
        if (Number(count) >= MOST_INVITATIONS) {
          throw new ConflictError(
            `The tenant '${tenantSlug}' has ${MOST_INVITATIONS} invitations, the most allowed: remove some first`,
          );
        }
        const values = {
          token_hash: hashOf(token),
          role,
          email: email ? normalizeAddress(email) : null,
          expires_at: knex.raw('now() + make_interval(days => ?)', [
            valid_days,
          ]),
        };
        const [row] = await transaction.query<InvitationRow>(
          knex('tenant_invitations')
            .insert({
              ...values,
              invitation_id,
              tenant_id,
              created_by: normalizePrincipal(options.by),
            })
            .onConflict('invitation_id')
            .merge(values)
            .where('tenant_invitations.tenant_id', tenant_id)
            .whereNull('tenant_invitations.accepted_at')
            .returning(knex.raw(COLUMNS)),
        );
        if (!row) {
          throw new ConflictError(
            'This invitation was accepted meanwhile: make another one',
          );
        }
        return {
          invitation: toInvitation(row),
          tenantName,
          token,
        };
      },
      options,
    );
  }

  /**
   * Removes an invitation. A user who has accepted it stays a member.
   *
   * @param options - `whileAdmin`: as in `create`
   * @throws `NotFoundError` if there is none, or as in `list`; `NotAllowedError` by `whileAdmin`
   */
  async revoke(
    tenantSlug: string,
    id: string,
    options: { whileAdmin?: readonly string[] } = {},
  ): Promise<void> {
    await changeTenant(
      this.options,
      'revoke an invitation',
      { tenant_slug: tenantSlug },
      async ({ transaction, tenantId: tenant_id }) => {
        const { knex } = transaction;
        const removed = UUID.test(id)
          ? await transaction.query(
              knex('tenant_invitations')
                .where({ tenant_id, invitation_id: id })
                .delete()
                .returning('role'),
            )
          : [];
        if (removed.length === 0) {
          throw new NotFoundError(
            `The tenant '${tenantSlug}' has no invitation ${JSON.stringify(
              id,
            )}`,
          );
        }
      },
      options,
    );
  }

  /**
   * Makes a user a member of the token's tenant. Of several users, one accepts an invitation,
   * who gets the same answer again while a member: the first one may be lost. A member with a
   * higher role keeps it.
   *
   * @param token - untrusted input
   * @param person - `email`: the address in the identity catalog
   * @throws `NotFoundError`, with the same message and after the same single statement, if the
   * token is unknown, used, expired, revoked, for another address, or of a deleted tenant
   */
  async accept(
    token: string,
    person: { userRef: string; email: string | undefined },
  ): Promise<Membership> {
    const principal = normalizePrincipal(person.userRef);
    const email =
      person.email === undefined ? null : normalizeAddress(person.email);
    // One statement in each case, so that response times do not reveal what is wrong.
    const find = async () => {
      const [found] = await this.options.pool.query<FoundInvitation>(knex =>
        knex.raw(
          `select t.tenant_id, t.tenant_slug, t.tenant_name, m.role
             from tenant_invitations i join tenants t on t.tenant_id = i.tenant_id
             left join tenant_members m on m.tenant_id = i.tenant_id
                   and m.principal = i.accepted_by and m.principal = ?
            where i.token_hash = ? and t.deleted_at is null
              and (m.role is not null
                   or (i.accepted_at is null and i.expires_at > now()
                       and (i.email is null or i.email = ?)))`,
          [principal, hashOf(token), email],
        ),
      );
      if (!found) {
        throw unusableError();
      }
      return found;
    };
    const { tenant_id, tenant_slug, tenant_name, role: held } = await find();
    const answer = (role: TenantRole) => ({ tenant_slug, tenant_name, role });
    if (held) {
      return answer(held);
    }
    try {
      const role = await changeMembers(
        this.options,
        'accept an invitation',
        { tenant_id },
        change => join(change, { token, principal }),
      );
      return answer(role);
    } catch (error) {
      if (!(error instanceof NotFoundError)) {
        throw error;
      }
      // The tenant was deleted, or another request was faster, perhaps of the same user.
      const { role } = await find();
      if (!role) {
        throw unusableError();
      }
      return answer(role);
    }
  }
}

/** Accepts an invitation of a locked tenant, and returns the member's resulting role. */
async function join(
  { transaction, tenantId: tenant_id }: TenantChange,
  { token, principal }: { token: string; principal: string },
): Promise<TenantRole> {
  const { knex } = transaction;
  // It may have been accepted, revoked, or replaced by one with another token since it was found.
  const [invitation] = await transaction.query<{
    role: TenantRole;
    created_by: string;
  }>(
    knex('tenant_invitations')
      .where({ tenant_id, token_hash: hashOf(token) })
      .whereNull('accepted_at')
      .whereRaw('expires_at > now()')
      .update({ accepted_at: knex.fn.now(), accepted_by: principal })
      .returning(['role', 'created_by']),
  );
  if (!invitation) {
    throw unusableError();
  }
  const [member] = await transaction.query<{ role: TenantRole }>(
    knex('tenant_members').select('role').where({ tenant_id, principal }),
  );
  const { role, created_by } = invitation;
  if (member && highestRole([member.role, role]) === member.role) {
    return member.role;
  }
  await transaction.query(
    knex('tenant_members')
      .insert({ tenant_id, principal, role, created_by })
      .onConflict(['tenant_id', 'principal'])
      .merge(['role']),
  );
  return role;
}

/** The token has 256 random bits, so a hash without a salt is sufficient. */
function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function unusableError(): NotFoundError {
  return new NotFoundError(
    'This invitation does not exist, is over, or is for somebody else: ask for a new one',
  );
}

function toInvitation(row: InvitationRow): TenantInvitation {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    accepted_at: row.accepted_at?.toISOString() ?? null,
  };
}

/** Ignores case: host names are case-insensitive, and so are mailbox names in practice. */
function normalizeAddress(address: string): string {
  return address.trim().toLocaleLowerCase('en-US');
}
