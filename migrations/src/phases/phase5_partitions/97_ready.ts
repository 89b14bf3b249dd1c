import type { Step } from '../../engine/Step';
import { ownerStatement } from '../../roles';
import { READY_TABLE } from '../../schema/tables';
import { revokeAllStatement } from '../../schema/grants';

/**
 * What lets an application of several tenants notice that its tables are gone.
 *
 * After the swap is undone, the name `entities` stands for a table of the default
 * tenant alone, in which a read of any other tenant finds nothing, without an error.
 * So each transaction of such an application begins with a statement that names
 * {@link READY_TABLE}. It fails where the table is missing; where it is there, PostgreSQL
 * keeps it locked (ACCESS SHARE) to the end of the transaction. An undo of the phase
 * drops it before anything else, and so waits for all transactions that have seen it:
 * none of them runs while the tables are taken back, and none begins afterwards.
 *
 * It has neither columns nor rows, and everybody may read it.
 */
export const ready: Step = {
  name: '5_97_ready',
  title: 'Let the application serve tenants',

  creates: () => [{ kind: 'relation', name: READY_TABLE }],

  async up({ executor }) {
    await executor.transaction({
      title: `Create ${READY_TABLE}`,
      locks: 'A new table, which no session uses yet.',
      statements: [
        `create table if not exists ${READY_TABLE} ()`,
        `comment on table ${READY_TABLE} is 'It is there while tenants can be served: an application looks for it in each transaction'`,
        ownerStatement(READY_TABLE),
        revokeAllStatement(READY_TABLE),
        `grant select on table ${READY_TABLE} to public`,
      ],
    });
  },

  async down({ executor }) {
    await executor.transaction({
      title: `Drop ${READY_TABLE}`,
      locks:
        'ACCESS EXCLUSIVE on it. It waits for the transactions of an application that ' +
        'serves tenants; those that begin meanwhile wait for the lock timeout at most.',
      statements: [`drop table if exists ${READY_TABLE}`],
    });
  },
};
