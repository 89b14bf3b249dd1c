import {
  isContainer,
  type LayoutItem,
  MOCKUP_LIMITS,
  type PlacedItem,
  withItems,
} from 'backstage-plugin-mockup-common';
import { boxOf } from '../../components/grid';
import { bottomOf, place } from './grid';

/** Where an item really goes. */
interface Home {
  within?: string;
  /** How many containers are around it. */
  depth: number;
}

const PAGE: Home = { depth: 0 };

/**
 * Lays items into their containers. One whose container is gone, holds nothing any more, is within
 * the item itself or too deep goes to the bottom of the page: a merge loses no item.
 *
 * @param isPushing - which items push down what they come to lie on
 */
export function treeOf(
  placed: readonly PlacedItem[],
  isPushing: (placed: PlacedItem) => boolean,
): LayoutItem[] {
  const homes = homesOf(placed);
  const children = new Map<string | undefined, PlacedItem[]>();
  const homeless: PlacedItem[] = [];
  for (const each of placed) {
    const { within } = homes.get(each.item.i) ?? PAGE;
    if (within === each.within) {
      children.set(within, [...(children.get(within) ?? []), each]);
    } else {
      homeless.push(each);
    }
  }

  function filled(item: LayoutItem): LayoutItem {
    const within = children.get(item.i);
    return isContainer(item) && (within || item.props.items !== undefined)
      ? withItems(item, arrange(within ?? []))
      : item;
  }
  function arrange(here: readonly PlacedItem[]): LayoutItem[] {
    const pushing = here
      .filter(isPushing)
      .map(({ item }) => [item.i, boxOf(item)] as const);
    const items = here.map(({ item }) => filled(item));
    return pushing.length > 0 ? [...place(items, new Map(pushing))] : items;
  }

  return homeless.reduce<LayoutItem[]>(
    (items, { item }) => [...items, { ...filled(item), y: bottomOf(items) }],
    arrange(children.get(undefined) ?? []),
  );
}

function homesOf(placed: readonly PlacedItem[]): Map<string, Home> {
  const byId = new Map(placed.map(each => [each.item.i, each]));
  const homes = new Map<string, Home>();
  const homeOf = ({ item, within }: PlacedItem, inside: string[]): Home => {
    const known = homes.get(item.i);
    if (known) {
      return known;
    }
    const container = within === undefined ? undefined : byId.get(within);
    let home = PAGE;
    if (
      container &&
      isContainer(container.item) &&
      ![...inside, item.i].includes(container.item.i)
    ) {
      const depth = homeOf(container, [...inside, item.i]).depth + 1;
      const deepest =
        MOCKUP_LIMITS.containerDepth - (isContainer(item) ? 1 : 0);
      home = depth <= deepest ? { within, depth } : PAGE;
    }
    homes.set(item.i, home);
    return home;
  };
  placed.forEach(each => homeOf(each, []));
  return homes;
}
