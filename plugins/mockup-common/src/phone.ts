import type { LayoutItem } from './schemas/layoutItem';

/** Where a layout item keeps its {@link PhonePlace}, among the properties of its component. */
const KEY = '$phone';

/**
 * How an item is shown where there is no room for columns.
 *
 * @public
 */
export interface PhonePlace {
  /** Its place among the others, which is not below that of a lower number. */
  order?: number;
  /** Whether it is left out. */
  hidden?: boolean;
}

/**
 * How an item is shown on a phone, as `props.$phone` says.
 *
 * @public
 */
export function phonePlaceOf({ props }: LayoutItem): PhonePlace {
  return (props[KEY] as PhonePlace | undefined) ?? {};
}

/**
 * An item that is shown so on a phone; as it comes on the page where nothing is given.
 *
 * @public
 */
export function withPhonePlace(
  item: LayoutItem,
  place: PhonePlace | undefined,
): LayoutItem {
  const props = withoutPhonePlace(item.props);
  return { ...item, props: place ? { ...props, [KEY]: place } : props };
}

/**
 * The properties that an item has for its component.
 *
 * @public
 */
export function withoutPhonePlace(
  props: Record<string, unknown>,
): Record<string, unknown> {
  if (!(KEY in props)) {
    return props;
  }
  const { [KEY]: _, ...own } = props;
  return own;
}
