import type { Step } from '../../engine/Step';
import { MEMBERS_TABLE } from '../../schema/tables';

/** The roles that a member of a tenant can have, as the table checks them. */
export const MEMBER_ROLES = ['viewer', 'member', 'admin'];

/**
 * The role `viewer`, in a database of which an earlier version completed phase 5: the members keep
 * the roles they have.
 */
export const viewerRole: Step = {
  name: '5_19_viewer_role',
  title: `Allow the role viewer in ${MEMBERS_TABLE}`,
  isAddition: true,

  async up({ executor }) {
    await executor.transaction({
      title: `Allow the role viewer in ${MEMBERS_TABLE}`,
      locks:
        `ACCESS EXCLUSIVE on ${MEMBERS_TABLE}, for a change of the catalog and a scan of its few ` +
        'rows. Blocks whoever asks for a member that is not in a cache meanwhile.',
      tables: [MEMBERS_TABLE],
      statements: [
        `alter table ${MEMBERS_TABLE}
           drop constraint if exists ${MEMBERS_TABLE}_role_check,
           add constraint ${MEMBERS_TABLE}_role_check
             check (role in (${MEMBER_ROLES.map(role => `'${role}'`).join(
               ', ',
             )}))`,
      ],
    });
  },

  // The table is dropped with the step that created it.
  down: async () => {},
};
