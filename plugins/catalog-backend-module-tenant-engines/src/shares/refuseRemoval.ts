import { ConflictError } from '@backstage/errors';
import {
  ANNOTATION_SHARE,
  ANNOTATION_SHARED_FROM,
  type TenantDatabase,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';

/** In any case, as Express matches routes. */
const REMOVAL = /^\/entities\/by-uid\/([^/]+)\/?$/i;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Refuses to remove a copy of an entity that another tenant shares: it would come back with the
 * next change.
 *
 * @throws ConflictError that names the tenant that shares it
 */
export async function refuseRemoval(
  database: Pick<TenantDatabase, 'query'>,
  tenantId: string,
  { method, path }: Request,
): Promise<void> {
  const [, segment] = (method === 'DELETE' && REMOVAL.exec(path)) || [];
  const uid = segment && decoded(segment);
  if (!uid || !UUID.test(uid)) {
    // The engine has no such entity.
    return;
  }
  const rows = await database.query<{ sharedFrom: string }>(tenantId, scope =>
    scope
      .table('entities')
      .whereNull('deleted_at')
      .where('entity_id', uid)
      .whereRaw(
        `final_entity #>> array['metadata', 'annotations', ?] is not null`,
        [ANNOTATION_SHARE],
      )
      .select({
        sharedFrom: scope.knex.raw(
          `final_entity #>> array['metadata', 'annotations', ?]`,
          [ANNOTATION_SHARED_FROM],
        ),
      }),
  );
  if (rows.length > 0) {
    throw new ConflictError(
      `The entity is a copy that the tenant '${rows[0].sharedFrom}' shares: remove the original, or end the share`,
    );
  }
}

/** `undefined` for what is not encoded correctly. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
