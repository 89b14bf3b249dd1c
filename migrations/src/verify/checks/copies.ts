import { CHANGE_LOG } from '../../copy/changeLog';
import { SNAPSHOT } from '../../copy/replay';
import { examineCopies } from '../../copy/compare';
import { describeCopies } from '../../copy/TableCopy';
import { firstCatchUp } from '../../phases/phase5_partitions/40_catch_up';
import { readCompletedSteps } from '../../engine/journal';
import { relationExists } from '../../schema/lookups';
import type { Check } from '../Check';

/**
 * Both sides hold the same, but for changes that wait in the log. Before the swap
 * it is the copy that is compared with the tables in use, after it the tables of
 * before, to which a rollback would go.
 */
export const copies: Check = {
  name: 'both sides of the swap hold the same rows, while there are two',
  from: 4,
  async examine({ executor }) {
    const completed = await readCompletedSteps(executor);
    if (
      !completed.includes(firstCatchUp.name) ||
      !(await relationExists(executor, CHANGE_LOG))
    ) {
      return [];
    }
    const described = await describeCopies(executor);
    const problems: string[] = [];
    await executor.work({
      title: 'Compare the tables with their copies',
      script: [],
      run: session =>
        session.transaction(`${SNAPSHOT} read only`, async () => {
          const report = await examineCopies(
            (sql, values) => session.query(sql, values),
            described,
          );
          problems.push(...report.problems);
        }),
    });
    return problems;
  },
};
