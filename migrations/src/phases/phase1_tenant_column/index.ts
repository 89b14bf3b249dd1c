import type { Phase } from '../../engine/Step';
import { tenantsTable } from './10_tenants_table';
import { tenantColumns } from './20_tenant_columns';
import { temporaryIndexes } from './30_temporary_indexes';

export const phase1: Phase = {
  number: 1,
  title: 'Add tenant column',
  steps: [tenantsTable, tenantColumns, temporaryIndexes],
};
