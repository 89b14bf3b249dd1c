import type { Phase } from '../../engine/Step';
import { refuseShape } from '../../checks/examineShape';
import { refuseRules } from '../../checks/Rule';
import { encoding, extensions as needed } from '../../checks/server';
import { extensions } from './05_extensions';
import { tenantsTable } from './10_tenants_table';
import { tenantColumns } from './20_tenant_columns';
import { temporaryIndexes } from './30_temporary_indexes';

export const phase1: Phase = {
  number: 1,
  title: 'Add tenant column',
  check: context =>
    refuseRules(context, 'Phase 1 cannot begin', [encoding, needed]),
  checkTables: context => refuseShape(context, 'Phase 1 cannot begin'),
  steps: [extensions, tenantsTable, tenantColumns, temporaryIndexes],
};
