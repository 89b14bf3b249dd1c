import { compareAdoption } from '../../adopt/compare';
import { readAdoptionStatus, renderFaults } from '../../adopt/status';
import { adoptedEngine } from '../../adopt/state';
import { SNAPSHOT } from '../../copy/replay';
import type { Check } from '../Check';

/** What is carried from the engine is what the engine has, where a catalog is adopted. */
export const adoption: Check = {
  name: 'the default tenant holds what the stock catalog holds, where that is adopted',
  from: 0,
  async examine(context) {
    const { executor, reporter } = context;
    const engine = await adoptedEngine(context);
    if (!engine) {
      return [];
    }
    const status = await readAdoptionStatus(context);
    const faults = renderFaults(status);
    if (faults.length > 0) {
      reporter.warn(faults.join('\n'));
    }
    const problems = status.tablesWithoutTriggers.map(
      table =>
        `Changes of ${table} are not carried: its triggers are gone or disabled.`,
    );
    await executor.work({
      title: 'Compare the default tenant with the stock catalog',
      script: [],
      run: session =>
        session.transaction(`${SNAPSHOT} read only`, async () => {
          problems.push(
            ...(await compareAdoption(
              (sql, values) => session.query(sql, values),
              executor,
              engine,
            )),
          );
        }),
    });
    return problems;
  },
};
