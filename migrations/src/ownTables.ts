import { ADOPTION_STATE, FAULTS } from './adopt/state';
import { CHANGE_LOG } from './copy/changeLog';
import { PRODUCT_TABLES } from './productTables/migrations';
import { APP_PRIVILEGES } from './roles';
import { archiveName, oldName, partitionedName } from './schema/partitions';
import { READY_TABLE, SEARCH_TABLES, TENANT_TABLES } from './schema/tables';

/**
 * A table of the migration, and what the application does with it.
 *
 * `own` are in use, with rows of tenants; `read` have such rows, which the application does not
 * write itself; `side` are the other sides of a swap; `other` about tenants, without policies. A partition is `part`.
 */
export interface OwnTable {
  name: string;
  kind: 'own' | 'read' | 'side' | 'other';
  /** The table that the error of its policy names. */
  policy?: string;
  /** Privileges that the application may have, and needs but for a `side`. */
  may?: readonly string[];
  /** The phase from which on it is there; not always, if left out. */
  since?: 4 | 5;
}

const READ = ['select'];
const WRITE = APP_PRIVILEGES;

/**
 * All tables that this product creates but for the record of the migration, in the order of
 * reports.
 */
export const OWN_TABLES: readonly OwnTable[] = [
  ...TENANT_TABLES.flatMap((policy): OwnTable[] => [
    { name: policy, kind: 'own', policy, may: WRITE, since: 4 },
    { name: oldName(policy), kind: 'side', policy, may: WRITE },
    { name: partitionedName(policy), kind: 'side', policy, may: WRITE },
    { name: archiveName(policy), kind: 'side', policy, may: WRITE },
  ]),
  ...SEARCH_TABLES.map(
    (policy): OwnTable => ({
      name: policy,
      kind: 'read',
      policy,
      may: READ,
      since: 5,
    }),
  ),
  { name: 'tenants', kind: 'other', may: READ, since: 4 },
  ...PRODUCT_TABLES.map(
    ({ name, read, policy }): OwnTable => ({
      name,
      kind: policy ? 'read' : 'other',
      policy: policy ? name : undefined,
      may: read ? READ : [],
      since: 5,
    }),
  ),
  { name: READY_TABLE, kind: 'other', may: READ, since: 5 },
  { name: CHANGE_LOG, kind: 'other' },
  { name: FAULTS, kind: 'other' },
  { name: ADOPTION_STATE, kind: 'other' },
];
