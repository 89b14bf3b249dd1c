import type { Page } from 'backstage-plugin-mockup-common';
import type { Knex } from 'knex';
import { preciseTime } from './columns';
import {
  type CursorPosition,
  type CursorScope,
  decodeCursor,
  encodeCursor,
  positionSchema,
} from './cursor';
import type { TenantStatements } from './TenantStatements';

/** The order of a list of mockups. */
export interface ListOrder {
  /** A column of `mockups`. */
  column: string;
  isTime: boolean;
  /** Whether the value of an entry never changes. */
  isFixed: boolean;
  direction: 'asc' | 'desc';
}

/** The columns of a cursor's position. */
interface Positioned {
  id: string;
  position_key: string;
  position_since: string;
  position_snapshot: string;
}

/**
 * Longer than any write: writes that were running at the first page count as changed since.
 */
const LONGEST_WRITE = '1 hour';

/**
 * Whether the snapshot sees the row, so that the row has not changed since. `xmin` has only the
 * low 32 bits of a transaction id, so they are extended to the 64-bit id nearest to the
 * snapshot. (Snapshots do not know ids of subtransactions; the plugin uses none.)
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
 * Fetches one page of a list of mockups, and counts all entries only if the page does not show
 * their number. The statements may see different snapshots.
 *
 * With cursors, every entry that is in the list during the whole reading is on a page, although
 * a change may move an entry to an earlier place. The pages first contain, in order, the
 * entries that have not changed since the first page, and then those that have, least recently
 * changed first, so that a further change only moves an entry ahead. An entry that changed
 * after it was read appears twice.
 */
export async function fetchPage<TRow extends { id: string }>(options: {
  statements: Pick<TenantStatements, 'run' | 'knex'>;
  matching: Knex.QueryBuilder;
  columns: string;
  order: ListOrder;
  scope: CursorScope;
  page: { limit: number; offset: number; cursor?: string };
}): Promise<Page<TRow>> {
  const { statements, matching, columns, order, scope, page } = options;
  const { limit, offset, cursor } = page;
  type Row = TRow & Positioned;

  const select = (
    by: ListOrder,
    count: number,
    narrow: (builder: Knex.QueryBuilder) => void = () => {},
  ) => {
    const key = by.isTime ? preciseTime(by.column) : by.column;
    return statements.run<Row>(
      matching
        .clone()
        .modify(narrow)
        .select(
          statements.knex.raw(`${columns}, ${key} as position_key,
            ${preciseTime(
              "clock_timestamp() at time zone 'utc'",
            )} as position_since,
            cast(pg_current_snapshot() as text) as position_snapshot`),
        )
        // The id makes the order total, so that each mockup appears on exactly one page.
        .orderBy(
          [by.column, 'mockups.id'].map(column => ({
            column,
            order: by.direction,
          })),
        )
        // One extra row shows whether there is another page.
        .limit(count + 1),
    );
  };
  const countAll = async () => {
    const [{ count }] = await statements.run<{ count: string }>(
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

  const { after, ...begun } = decodeCursor(positionSchema, scope, cursor);
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
