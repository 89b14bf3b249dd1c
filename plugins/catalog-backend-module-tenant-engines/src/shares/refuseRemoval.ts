import { ConflictError } from '@backstage/errors';
import {
  ANNOTATION_SHARE,
  ANNOTATION_SHARED_FROM,
  type TenantDatabase,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';

/** In any case, as Express matches routes. */
const REMOVAL = /^\/entities\/by-uid\/([^/]+)\/?$/i;

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
  const [, uid] = (method === 'DELETE' && REMOVAL.exec(path)) || [];
  if (uid === undefined) {
    return;
  }
  const rows = await database.query<{ sharedFrom: string }>(tenantId, scope =>
    scope
      .table('entities')
      .whereNull('deleted_at')
      .whereRaw('entity_id::text = ?', [
        decodeURIComponent(uid).toLocaleLowerCase('en-US'),
      ])
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
      `The entity is shared by the tenant '${rows[0].sharedFrom}', and can be removed there`,
    );
  }
}
