import type { Database } from '../migration/database';

/** Where the rows of tenants are. */
export type Layout = 'partitions' | 'shared';

export const LAYOUTS: Layout[] = ['partitions', 'shared'];

/** How a layout is called in the report. */
export const LAYOUT_NAMES: Record<Layout, string> = {
  partitions: 'partitions of their own',
  shared: 'the default partition',
};

/** The databases of a benchmark, all of them with the same entities. */
export interface Databases extends Record<Layout, Database> {
  /** Without tenants: what a catalog is before it has them. */
  single: Database;
}
