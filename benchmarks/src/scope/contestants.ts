import type { PostgresConnection } from '@internal/postgres';
import type { Database } from '../migration/database';
import { type Databases, type Layout, LAYOUTS } from './layouts';
import type { Access, Side } from './Side';
import { openBare, openOurs, openPolicyAlone, openTransactions } from './sides';

/** A side, and how many tenants it is asked about. */
export interface Contestant {
  side: Side;
  tenants: number;
  /** Whether its connections have to see each tenant's partition once. */
  warmUp: boolean;
}

/** All that are measured in turn. */
export interface Contestants {
  bare: Contestant;
  layouts: Record<Layout, LayoutContestants>;
}

/** Those whose rows are in the same place. */
export interface LayoutContestants {
  ours: Contestant;
  transaction: Contestant;
  policyAlone: Contestant;
  /** Ours with fewer tenants. */
  before?: Contestant;
}

/** Where they are, and with how many connections. */
export interface Arena {
  databases: Databases;
  tenants: number;
  connection: PostgresConnection;
  connections: number;
  /** The same with fewer tenants, where growth is measured. */
  before?: { databases: Databases; tenants: number };
}

/** Opens all of them. */
export function openContestants(arena: Arena): Contestants {
  const { before, databases, tenants } = arena;
  const open = (
    openSide: (access: Access) => Side,
    database: Database,
    of: number,
    warmUp: boolean,
  ): Contestant => ({
    side: openSide({ ...arena, database }),
    tenants: of,
    warmUp,
  });
  const openLayout = (layout: Layout): LayoutContestants => {
    const warmUp = layout === 'partitions';
    const database = databases[layout];
    return {
      ours: open(openOurs, database, tenants, warmUp),
      transaction: open(openTransactions, database, tenants, warmUp),
      // Its first statement looks at all partitions anyway.
      policyAlone: open(openPolicyAlone, database, tenants, false),
      ...(before && {
        before: open(
          ...([openOurs, before.databases[layout], before.tenants] as const),
          warmUp,
        ),
      }),
    };
  };
  return {
    bare: open(openBare, databases.single, tenants, false),
    layouts: {
      partitions: openLayout('partitions'),
      shared: openLayout('shared'),
    },
  };
}

/** All of them, in the order in which they are measured. */
export function listContestants({ bare, layouts }: Contestants): Contestant[] {
  return [
    bare,
    ...LAYOUTS.flatMap(layout => {
      const { ours, transaction, policyAlone, before } = layouts[layout];
      return [ours, transaction, policyAlone, ...(before ? [before] : [])];
    }),
  ];
}
