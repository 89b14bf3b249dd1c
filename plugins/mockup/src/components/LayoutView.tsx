import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { type CSSProperties, memo, type ReactNode, useMemo } from 'react';
import { ComponentView } from './ComponentView';
import { drawnBoxes } from './grid';
import styles from './LayoutView.module.css';
import { PageDataProvider } from './live/PageData';

/**
 * A layout, to look at. It has the width of what is around it, and the height of its items.
 */
export const LayoutView = memo(function MemoizedLayoutView(props: {
  items: readonly LayoutItem[];
  /** What is drawn above an item, within its box. */
  overlayOf?: (item: LayoutItem) => ReactNode;
  /** Draws the items one below the other where there is no room for columns. */
  isStacked?: boolean;
}) {
  const { items, overlayOf, isStacked } = props;
  const boxes = useMemo(() => drawnBoxes(items), [items]);
  return (
    <PageDataProvider>
      <div className={isStacked ? styles.stacked : styles.room}>
        <div className={styles.grid}>
          {boxes.map(({ item, box }) => (
            <div
              key={item.i}
              className={styles.item}
              data-item={item.i}
              style={
                {
                  '--item-column': `${box.x + 1} / span ${box.w}`,
                  '--item-row': `${box.y + 1} / span ${box.h}`,
                  '--item-rows': box.h,
                } as CSSProperties
              }
            >
              <ComponentView component={item.component} props={item.props} />
              {overlayOf && (
                <div className={styles.overlay}>{overlayOf(item)}</div>
              )}
            </div>
          ))}
        </div>
      </div>
    </PageDataProvider>
  );
});
