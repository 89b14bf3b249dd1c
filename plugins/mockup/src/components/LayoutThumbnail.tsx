import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { memo } from 'react';
import { boxOf, GRID } from './grid';
import styles from './LayoutThumbnail.module.css';

const COLUMN = 10;
const ROW = 4;
/** The rows that are shown. */
const ROWS = 20;
const INSET = 0.75;

/** What a layout looks like from afar: a box for each item of its upper part. */
export const LayoutThumbnail = memo(function MemoizedLayoutThumbnail(props: {
  items: readonly LayoutItem[];
}) {
  return (
    <svg
      aria-hidden
      className={styles.thumbnail}
      viewBox={`-2 -2 ${GRID.cols * COLUMN + 4} ${ROWS * ROW + 4}`}
      preserveAspectRatio="xMidYMin slice"
    >
      {props.items
        .filter(({ y }) => y < ROWS)
        .map(item => {
          const { x, y, w, h } = boxOf(item);
          return (
            <rect
              key={item.i}
              data-component={item.component}
              x={x * COLUMN + INSET}
              y={y * ROW + INSET}
              width={w * COLUMN - 2 * INSET}
              height={Math.min(h, ROWS - y) * ROW - 2 * INSET}
              rx={1}
            />
          );
        })}
    </svg>
  );
});
