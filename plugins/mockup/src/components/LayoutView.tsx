import { useBreakpoint } from '@backstage/ui';
import {
  isContainer,
  type LayoutItem,
  phonePlaceOf,
} from 'backstage-plugin-mockup-common';
import {
  createContext,
  type CSSProperties,
  memo,
  type ReactNode,
  useContext,
  useMemo,
} from 'react';
import { ComponentView, INERT } from './ComponentView';
import { type Box, drawnBoxes, phoneOrder, readingOrder } from './grid';
import styles from './LayoutView.module.css';
import { PageDataProvider } from './live/PageData';

type OverlayOf = (item: LayoutItem) => ReactNode;

const OverlayContext = createContext<OverlayOf | undefined>(undefined);

const PhoneContext = createContext(false);

/** Whether something is drawn above items, such as how they differ: then none of them is hidden. */
export function useHasOverlays(): boolean {
  return useContext(OverlayContext) !== undefined;
}

/**
 * A layout, to look at. It has the width of what is around it, and the height of its items.
 */
export const LayoutView = memo(function MemoizedLayoutView(props: {
  items: readonly LayoutItem[];
  /** What is drawn above an item, within its box; above those within containers, too. */
  overlayOf?: OverlayOf;
  /** Draws the items one below the other where there is no room for columns. */
  isStacked?: boolean;
  /** Whether it is read on a phone, whatever this window is. */
  isPhone?: boolean;
}) {
  const { items, overlayOf, isStacked } = props;
  const { breakpoint } = useBreakpoint();
  const isPhone = props.isPhone ?? (isStacked && breakpoint === 'initial');
  return (
    <PageDataProvider>
      <OverlayContext.Provider value={overlayOf}>
        <PhoneContext.Provider value={isPhone ?? false}>
          <div className={isStacked ? styles.stacked : undefined}>
            <LayoutGrid items={items} />
          </div>
        </PhoneContext.Provider>
      </OverlayContext.Provider>
    </PageDataProvider>
  );
});

/** Whether items are drawn as on a phone. */
export function useIsPhone(): boolean {
  return useContext(PhoneContext);
}

/** Items in the order in which they are drawn, which on a phone may be another one. */
export function useOrdered(items: readonly LayoutItem[]): LayoutItem[] {
  const isPhone = useIsPhone();
  return useMemo(
    () => (isPhone ? phoneOrder(items) : readingOrder(items)),
    [items, isPhone],
  );
}

/** Items in the grid, of a page or within a container. */
export function LayoutGrid({ items }: { items: readonly LayoutItem[] }) {
  const ordered = useOrdered(items);
  const boxes = useMemo(() => {
    const drawn = drawnBoxes(items);
    const byItem = new Map(drawn.map(each => [each.item, each]));
    return ordered.map(item => byItem.get(item)!);
  }, [items, ordered]);
  return (
    <div className={styles.grid}>
      {boxes.map(({ item, box }) => (
        <ItemView key={item.i} item={item} box={box} />
      ))}
    </div>
  );
}

/** An item with what is drawn above it; in its place in the grid, or in the room that is there. */
export function ItemView({ item, box }: { item: LayoutItem; box?: Box }) {
  const overlayOf = useContext(OverlayContext);
  const overlay = overlayOf?.(item);
  // Without a place, it must not take that of the container, which it would inherit.
  const style = {
    '--item-column': box ? `${box.x + 1} / span ${box.w}` : 'auto',
    '--item-row': box ? `${box.y + 1} / span ${box.h}` : 'auto',
    '--item-rows': box?.h ?? item.h,
  } as CSSProperties;
  return (
    <div
      className={styles.item}
      data-item={item.i}
      data-container={isContainer(item) || undefined}
      data-phone-hidden={phonePlaceOf(item).hidden || undefined}
      style={style}
    >
      <div
        className={styles.piece}
        // What is in a container has overlays of its own.
        {...(overlay && !isContainer(item) && INERT)}
      >
        <ComponentView component={item.component} props={item.props} />
      </div>
      {overlay && <div className={styles.overlay}>{overlay}</div>}
    </div>
  );
}
