import { InputError } from '@backstage/errors';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  type ActiveTenant,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import { escapeIdentifier } from 'pg';
import { SHARES_SOURCE } from '../shares/copies';
import type { EnginePool } from '../work/EnginePool';

/** Those beyond `max_entities` are not served, but may be as soon as others go. */
const FACTOR = 2;

/** In any case, as Express matches routes. */
const LOCATIONS = /^\/locations\/?$/i;

/** What one location has brought in a read of it. */
export interface Brought {
  /** Of the location. */
  entityRef: string;
  entities: number;
}

interface GrowthOptions {
  pool: Pick<EnginePool, 'query'>;
  /** Of a tenant. */
  maxEntities: (tenantSlug: string) => Promise<number>;
}

/**
 * Keeps the locations of a tenant from filling the database: each file may name further ones, of
 * which a server can make up any number.
 *
 * @throws InputError for a location that grows while the engine has twice `max_entities`
 */
export async function refuseGrowth(
  tenant: ActiveTenant,
  { entityRef, entities }: Brought,
  options: GrowthOptions,
): Promise<void> {
  const name = engineSchemaOf(tenant.tenantId);
  const [{ before }] = await options.pool.query<{ before: number }>(
    `select count(*)::int as before from ${escapeIdentifier(
      name,
    )}.refresh_state_references where source_entity_ref = $1`,
    [entityRef],
    name,
  );
  if (entities > before) {
    await refuseFull(tenant, options);
  }
}

/** @throws InputError for a new location while the engine has twice `max_entities` */
export async function refuseRegistration(
  req: Request,
  options: GrowthOptions,
): Promise<void> {
  if (req.method === 'POST' && LOCATIONS.test(req.path)) {
    await refuseFull(tenantOf(req), options);
  }
}

async function refuseFull(
  { tenantId, tenantSlug }: ActiveTenant,
  { maxEntities, pool }: GrowthOptions,
): Promise<void> {
  const most = FACTOR * (await maxEntities(tenantSlug));
  if (most === Infinity) {
    return;
  }
  const name = engineSchemaOf(tenantId);
  const schema = escapeIdentifier(name);
  // Copies of what others share do not count towards max_entities.
  const beyond = await pool.query(
    `select from ${schema}.refresh_state
     offset $1::bigint + (select count(*) from ${schema}.refresh_state_references
                           where source_key = $2)
      limit 1`,
    [most, SHARES_SOURCE],
    name,
  );
  if (beyond.length > 0) {
    throw new InputError(
      `The engine of the tenant has more than ${most.toLocaleString(
        'en',
      )} entities, ${FACTOR} times max_entities: no location may bring more than before. Remove some, or have max_entities raised`,
    );
  }
}
