import { escapeLiteral } from '../sql';
import type { Header, Section } from './archive';
import { describeShared, PEOPLE_COLUMNS } from './description';
import { isOwnSchema } from './sections';

/** Those that are tenants here. */
const KNOWN_TARGETS = `(
  select jsonb_agg(target) from jsonb_array_elements_text(row -> 'target_ids') target
   where exists (select from tenants where tenant_id::text = target))`;

/** The tenant that is made, or replaced. */
export interface Target {
  tenantId: string;
  slug: string;
  /** What it had in the file, or has at the source. */
  from: Header['tenant'];
  /** Whether it is created as deleted, so that no request enters it yet. */
  isClosed?: boolean;
}

/**
 * What becomes of the rows of a section under another id or slug, as SQL about `row`; and which
 * of them are left out.
 */
export function rowExpression(
  { part, table, columns }: Pick<Section, 'part' | 'table' | 'columns'>,
  { tenantId, slug, from, isClosed = false }: Target,
): { row: string; where: string } {
  if (isOwnSchema(part)) {
    return { row: 'row', where: 'true' };
  }
  const id = escapeLiteral(tenantId);
  const changes = [`'tenant_id', ${id}::text`];
  if (table === 'tenants') {
    // An export of a deleted tenant brings it back.
    changes.push(`'tenant_slug', ${escapeLiteral(slug)}::text`);
    changes.push(`'deleted_at', ${isClosed ? 'now()' : 'null'}`);
    if (columns.includes('read_only_until')) {
      changes.push(`'read_only_until', null`);
    }
  }
  if (table === 'tenant_shares') {
    changes.push(
      `'target_ids', case when row -> 'target_ids' = 'null' then null else ${KNOWN_TARGETS} end`,
    );
  }
  if (tenantId !== from.id) {
    const { keys = [] } = describeShared(table);
    for (const key of keys.filter(each => columns.includes(each))) {
      changes.push(
        `'${key}', encode(substr(sha256(convert_to(${id} || (row ->> '${key}'), 'UTF8')), 1, 16), 'hex')::uuid`,
      );
    }
  }
  if (slug !== from.slug) {
    const old = escapeLiteral(`user:${from.slug}/`);
    for (const column of PEOPLE_COLUMNS.filter(each =>
      columns.includes(each),
    )) {
      changes.push(
        `'${column}', case when starts_with(row ->> '${column}', ${old})
          then ${escapeLiteral(
            `user:${slug}/`,
          )} || substr(row ->> '${column}', length(${old}) + 1)
          else row ->> '${column}' end`,
      );
    }
  }
  return {
    row: `row || jsonb_build_object(${changes.join(', ')})`,
    where: whereOf(table, id),
  };
}

function whereOf(table: string, id: string): string {
  switch (table) {
    case 'tenant_shares':
      return `(row -> 'target_ids' = 'null' or ${KNOWN_TARGETS} is not null)`;
    case 'tenant_invitations':
      // The link of an invitation is for one tenant alone.
      return `not exists (
        select from tenant_invitations i
         where i.invitation_id::text = row ->> 'invitation_id' and i.tenant_id <> ${id})`;
    default:
      return 'true';
  }
}
