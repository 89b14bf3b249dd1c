import { adviceOf, findObstacles, isForced } from '../phases/obstacles';
import type { Obstacle } from '../phases/obstacles';
import type { Outcome } from './Finding';
import type { PreflightContext } from './PreflightCheck';

/** What a later phase would refuse, as far as one check reports it. */
export async function obstacleOutcomes(
  context: PreflightContext,
  check: Obstacle['check'],
): Promise<Outcome[]> {
  const obstacles = await findObstacles(
    context,
    context.facts.tables.map(({ oid }) => oid),
  );
  return obstacles
    .filter(each => each.check === check)
    .map(each => ({
      level: isForced(each, context) ? 'warning' : 'failure',
      message: each.message,
      advice: adviceOf(each),
      ...(each.sql ? { sql: each.sql } : {}),
    }));
}
