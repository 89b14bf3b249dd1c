import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import { withClient } from '@internal/postgres/testUtils';
import { randomUUID } from 'node:crypto';
import type { ClientConfig } from 'pg';

/**
 * Puts entities into the default tenant, where nobody but the engine of an adopted
 * catalog may: as the superuser, and without the engine.
 */
export async function insertEntities(
  connection: ClientConfig,
  tenantId: string,
  entities: Entity[],
): Promise<void> {
  await withClient(connection, async client => {
    for (const entity of entities) {
      const uid = randomUUID();
      await client.query(
        `insert into tenancy.entities (tenant_id, entity_id, entity_ref, entity_kind,
                                       entity_namespace, entity_name, final_entity, hash)
         select $1, $2, $3, split_part($3, ':', 1), split_part(split_part($3, ':', 2), '/', 1),
                split_part($3, '/', 2), $4, 'hash'`,
        [
          tenantId,
          uid,
          stringifyEntityRef(entity),
          { ...entity, metadata: { ...entity.metadata, uid } },
        ],
      );
    }
  });
}
