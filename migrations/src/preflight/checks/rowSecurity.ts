import { ok } from '../Finding';
import { obstacleOutcomes } from '../obstacleOutcomes';
import type { PreflightCheck } from '../PreflightCheck';

/** Row-level security is not in use: policies of others would add up with ours. */
export const rowSecurity: PreflightCheck = {
  name: 'row-level security',
  scope: 'tables',
  async run(context) {
    const outcomes = await obstacleOutcomes(context, 'row-level security');
    return outcomes.length > 0
      ? outcomes
      : [ok('No policy stands in the way of those of phase 4.')];
  },
};
