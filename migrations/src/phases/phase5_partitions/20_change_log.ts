import {
  CHANGE_LOG,
  createChangeLog,
  createLogTriggers,
  dropChangeLog,
  dropLogTriggers,
  logFunction,
} from '../../copy/changeLog';
import {
  createFenceFunction,
  dropFenceOf,
  FENCE_FUNCTION,
} from '../../copy/fence';
import { REPLAY_FUNCTION } from '../../copy/replay';
import type { Step } from '../../engine/Step';
import { ADMIN_ROLE } from '../../roles';
import { TENANT_TABLES } from '../../schema/tables';
import { revokeAllStatement } from '../../schema/grants';

/** Logs every change from here on, until the replay has made it on the other side. */
export const changeLog: Step = {
  name: '5_20_change_log',
  title: 'Log which entities change',
  live: true,

  creates: [
    CHANGE_LOG,
    FENCE_FUNCTION,
    REPLAY_FUNCTION,
    ...TENANT_TABLES.map(table => `${logFunction(table)}()`),
  ],

  async up({ executor, settings }) {
    await executor.transaction({
      title: 'Create the change log',
      locks: 'New objects, which no session uses yet.',
      statements: [
        ...createChangeLog(settings.schema),
        createFenceFunction,
        `alter table ${CHANGE_LOG} owner to ${ADMIN_ROLE}`,
        // Default privileges may have granted some.
        revokeAllStatement(CHANGE_LOG),
        ...TENANT_TABLES.map(
          table =>
            `alter function ${logFunction(table)}() owner to ${ADMIN_ROLE}`,
        ),
      ],
    });
    for (const table of TENANT_TABLES) {
      await executor.transaction({
        title: `Log the changes of ${table}`,
        locks:
          `SHARE ROW EXCLUSIVE on ${table}, for a change of the catalog. It waits for ` +
          'the transactions that have written, so that none of them is missed.',
        tables: [table],
        mode: 'share row exclusive',
        statements: createLogTriggers(table),
      });
    }
  },

  async down({ executor }) {
    for (const table of TENANT_TABLES) {
      await executor.transaction({
        title: `Stop logging the changes of ${table}`,
        locks: `ACCESS EXCLUSIVE on ${table}, for a change of the catalog.`,
        tables: [table],
        statements: [...dropLogTriggers(table), dropFenceOf(table)],
      });
    }
    await executor.transaction({
      title: 'Drop the change log',
      locks: `ACCESS EXCLUSIVE on ${CHANGE_LOG}, which no session writes to any more.`,
      tables: [CHANGE_LOG],
      statements: [
        ...dropChangeLog(),
        `drop function if exists ${REPLAY_FUNCTION}`,
      ],
    });
  },
};
