import type { Step } from '../../engine/Step';
import { ownerStatement } from '../../roles';
import { READY_TABLE } from '../../schema/tables';
import { revokeAllStatement } from '../../schema/grants';

/**
 * Creates {@link READY_TABLE}, by which an application of several tenants notices that the
 * swap was undone.
 *
 * Then `entities` is a table of the default tenant alone: a read of another tenant would
 * find nothing, without an error. So each transaction of such an application begins with a
 * statement that names the table. It fails if the table is missing, and otherwise holds
 * ACCESS SHARE on it until the transaction ends. An undo of the phase drops the table
 * first, and so waits for these transactions: none runs while the tables are swapped back,
 * and none begins afterwards.
 *
 * The table has no columns and no rows, and every role may read it.
 */
export const ready: Step = {
  name: '5_97_mark_ready',
  title: 'Let the application serve tenants',

  creates: [READY_TABLE],

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
        `ACCESS EXCLUSIVE on ${READY_TABLE}. It waits for the transactions of an application that ` +
        'serves tenants; those that begin meanwhile wait behind it.',
      tables: [READY_TABLE],
      statements: [`drop table if exists ${READY_TABLE}`],
    });
  },
};
