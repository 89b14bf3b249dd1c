import type { Page } from 'backstage-plugin-mockup-common';
import type { Knex } from 'knex';
import { preciseTime } from './columns';
import {
  type CursorPosition,
  type CursorScope,
  decodeCursor,
  encodeCursor,
} from './cursor';

/** The order of a list of mockups. */
export interface ListOrder {
  /** A column of `mockups`. */
  column: string;
  isTime: boolean;
  /** Whether an entry can get another value while it is in the list. */
  isFixed: boolean;
  direction: 'asc' | 'desc';
}

/** What a page says of where it ends. */
interface Positioned {
  id: string;
  position_key: string;
  position_since: string;
  position_snapshot: string;
}

/**
 * Longer than any write takes, so that those under way when a list began are found among
 * those changed since.
 */
const LONGEST_WRITE = '1 hour';

/**
 * Whether the snapshot sees the row as it is, which therefore has not changed since. The id of the
 * transaction that wrote the row has 32 bits; those above them are of the id nearest to the snapshot.
 * (The ids of subtransactions are unknown to snapshots; the plugin writes in none.)
 */
const SEEN_BY_SNAPSHOT = `pg_visible_in_snapshot(
  (select cast(cast(greatest(3,
      top + ((cast(cast(mockups.xmin as text) as bigint) - top + 2147483648)
             & 4294967295) - 2147483648
    ) as text) as xid8)
     from (select cast(cast(pg_snapshot_xmax(cast(:snapshot as pg_snapshot)) as text) as bigint)
           as top) snapshot),
  cast(:snapshot as pg_snapshot))`;

const UNCHANGED = `(
  mockups.updated_at < cast(:since as timestamp) - interval '${LONGEST_WRITE}'
  or ${SEEN_BY_SNAPSHOT})`;

const CHANGED = `(
  mockups.updated_at >= cast(:since as timestamp) - interval '${LONGEST_WRITE}'
  and mockups.created_at <= cast(:since as timestamp)
  and not ${SEEN_BY_SNAPSHOT})`;

const BY_CHANGE: ListOrder = {
  column: 'mockups.updated_at',
  isTime: true,
  isFixed: false,
  direction: 'asc',
};

/**
 * Fetches one page of a list of mockups, and counts the rest only if the page does not
 * already show how many there are. The statements may see different states.
 *
 * With a cursor, every entry that is in the list from the first page to the last is on
 * a page: an order by a value that changes would lose those that pass by the reader. Therefore
 * the pages first have, in their order, those that did not change since the first page, and at the
 * end those that did, the longest unchanged first: a further change moves an entry only ahead. One that
 * changed after it was read is there twice.
 */
export async function fetchPage<TRow extends { id: string }>(options: {
  run: <T>(statement: Knex.QueryBuilder) => Promise<T[]>;
  knex: Knex;
  matching: Knex.QueryBuilder;
  columns: string;
  order: ListOrder;
  scope: CursorScope;
  page: { limit: number; offset: number; cursor?: string };
}): Promise<Page<TRow>> {
  const { run, knex, matching, columns, order, scope, page } = options;
  const { limit, offset, cursor } = page;
  type Row = TRow & Positioned;

  const select = (
    by: ListOrder,
    count: number,
    narrow: (builder: Knex.QueryBuilder) => void = () => {},
  ) => {
    const key = by.isTime ? preciseTime(by.column) : by.column;
    return run<Row>(
      matching
        .clone()
        .modify(narrow)
        .select(
          knex.raw(`${columns}, ${key} as position_key,
            ${preciseTime(
              "clock_timestamp() at time zone 'utc'",
            )} as position_since,
            cast(pg_current_snapshot() as text) as position_snapshot`),
        )
        // The id makes the order total, so that no mockup appears on two pages or
        // on none.
        .orderBy(
          [by.column, 'mockups.id'].map(column => ({
            column,
            order: by.direction,
          })),
        )
        // One more shows whether there is another page.
        .limit(count + 1),
    );
  };
  const countAll = async () => {
    const [{ count }] = await run<{ count: string }>(
      matching.clone().count({ count: '*' }),
    );
    return Number(count);
  };
  const toPage = (
    items: Row[],
    totalItems: number,
    next: Omit<CursorPosition, 'after'> | undefined,
    last: Row | undefined = items.at(-1),
  ): Page<TRow> => ({
    items,
    totalItems,
    ...(next && {
      nextCursor: encodeCursor(scope, {
        ...next,
        ...(last && { after: { key: last.position_key, id: last.id } }),
      }),
    }),
  });

  if (cursor === undefined) {
    const rows = await select(order, limit, builder => builder.offset(offset));
    const items = rows.slice(0, limit);
    if (rows.length > limit) {
      const { position_since: since, position_snapshot: snapshot } = rows[0];
      const next = { since, snapshot, changed: false };
      return toPage(items, await countAll(), next);
    }
    const showsTheEnd = items.length > 0 || offset === 0;
    return toPage(
      items,
      showsTheEnd ? offset + items.length : await countAll(),
      undefined,
    );
  }

  const { after, ...begun } = decodeCursor(scope, cursor);
  const { since, snapshot } = begun;
  const behind = (builder: Knex.QueryBuilder, by: ListOrder) => {
    if (after) {
      const comparison = by.direction === 'asc' ? '>' : '<';
      builder.whereRaw(
        `(${by.column}, mockups.id) ${comparison} (cast(? as ${
          by.isTime ? 'timestamp' : 'varchar'
        }), cast(? as uuid))`,
        [after.key, after.id],
      );
    }
  };
  const items: Row[] = [];
  if (!begun.changed) {
    const rows = await select(order, limit, builder => {
      behind(builder, order);
      if (!order.isFixed) {
        builder.whereRaw(UNCHANGED, { since, snapshot });
      }
    });
    items.push(...rows.slice(0, limit));
    if (rows.length > limit || order.isFixed) {
      const next = rows.length > limit ? begun : undefined;
      return toPage(items, await countAll(), next);
    }
  }
  const rest = limit - items.length;
  const changed = await select(BY_CHANGE, rest, builder => {
    if (begun.changed) {
      behind(builder, BY_CHANGE);
    }
    builder.whereRaw(CHANGED, { since, snapshot });
  });
  const shown = changed.slice(0, rest);
  const next =
    changed.length > rest ? { since, snapshot, changed: true } : undefined;
  return {
    ...toPage(shown, await countAll(), next),
    items: [...items, ...shown],
  };
}
