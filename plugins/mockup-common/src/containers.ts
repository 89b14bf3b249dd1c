import type { LayoutItem } from './schemas/layoutItem';

/** By this the backend knows a container, which has no registry of components. */
const PREFIX = 'container-';

/**
 * Whether an item may hold others: the name of its component begins with `container-`.
 *
 * @public
 */
export function isContainer({
  component,
}: Pick<LayoutItem, 'component'>): boolean {
  return component.startsWith(PREFIX);
}

/**
 * The items that a container holds, in `props.items`; none of another item.
 *
 * @public
 */
export function itemsWithin(item: LayoutItem): readonly LayoutItem[] {
  const { items } = item.props;
  return isContainer(item) && Array.isArray(items) ? items : [];
}

/**
 * A container with other items.
 *
 * @public
 */
export function withItems(
  container: LayoutItem,
  items: readonly LayoutItem[],
): LayoutItem {
  return { ...container, props: { ...container.props, items: [...items] } };
}

/**
 * An item of its own, without those that it holds.
 *
 * @public
 */
export function withoutItems(item: LayoutItem): LayoutItem {
  if (!isContainer(item)) {
    return item;
  }
  const { items: _, ...props } = item.props;
  return { ...item, props };
}

/**
 * An item, and where it is.
 *
 * @public
 */
export interface PlacedItem {
  /** The item. */
  item: LayoutItem;
  /** The `i` of the container that holds it; left out for an item of the layout itself. */
  within?: string;
}

/**
 * All items of a layout: each container is followed by the items that it holds.
 *
 * @public
 */
export function allItems(
  items: readonly LayoutItem[],
  within?: string,
): PlacedItem[] {
  return items.flatMap(item => [
    { item, ...(within !== undefined && { within }) },
    ...allItems(itemsWithin(item), item.i),
  ]);
}
