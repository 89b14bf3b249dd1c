import { ok } from '../Finding';
import { obstacleOutcomes } from '../obstacleOutcomes';
import type { PreflightCheck } from '../PreflightCheck';

/** Nothing hangs on the tables that cannot follow the swap of phase 5. */
export const dependents: PreflightCheck = {
  name: 'dependents',
  scope: 'tables',
  async run(context) {
    const outcomes = await obstacleOutcomes(context, 'dependents');
    return outcomes.length > 0
      ? outcomes
      : [ok('Nothing depends on the tables that phase 5 would leave behind.')];
  },
};
