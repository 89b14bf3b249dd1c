import { constraintStep } from '../../schema/changes';
import {
  DEFAULT_TENANT_ID,
  oneTenantCheck,
  TENANT_TABLES,
} from '../../schema/tables';

/**
 * Only the default tenant can have rows until the swap: an entity reference is unique
 * across tenants in these tables.
 *
 * With this check the existing keys imply those on tenant and entity. Additional unique
 * indexes on these would fail an upsert that names one key as its conflict target and
 * meets a concurrent row at the other.
 */
export const oneTenant = constraintStep(
  {
    name: '3_10_one_tenant',
    title: 'Keep the tables to the default tenant until the swap',
  },
  TENANT_TABLES.map(table => ({
    name: oneTenantCheck(table),
    table,
    definition: `check (tenant_id = '${DEFAULT_TENANT_ID}')`,
  })),
);
