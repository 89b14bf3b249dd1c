import type { Phase } from '../../engine/Step';
import { checkRoleAccess } from '../../schema/roleAccess';
import { oneTenant } from './10_one_tenant';
import { entityIndexes } from './15_entity_indexes';
import { entityRules } from './20_entity_rules';
import { entityKeys } from './30_entity_keys';
import { roles } from './40_roles';
import { refuseShape } from '../../checks/examineShape';
import { refuseRules } from '../../checks/Rule';
import { ONE_TENANT_RULES, ROW_RULES } from '../../checks/rows';

export const phase3: Phase = {
  number: 3,
  title: 'Application update',
  check: checkRoleAccess,
  async checkTables(context) {
    await refuseShape(context, 'Phase 3 cannot begin');
    await refuseRules(context, 'Phase 3 cannot begin', [
      ...ONE_TENANT_RULES,
      ...ROW_RULES,
    ]);
  },
  steps: [oneTenant, entityIndexes, entityRules, entityKeys, roles],
};
