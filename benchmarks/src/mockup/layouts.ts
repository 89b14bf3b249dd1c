import type { LayoutItem } from 'backstage-plugin-mockup-common';

const ITEMS_PER_LAYOUT = 50;
const DIFFERENT_LAYOUTS = 20;

const COMPONENTS = ['Button', 'Table', 'TextField', 'Card', 'Chart'];

/** Layouts as an editor would save them: 50 items, about 9 kB of JSON each. */
export const LAYOUTS: LayoutItem[][] = Array.from(
  { length: DIFFERENT_LAYOUTS },
  (_layout, number) =>
    Array.from({ length: ITEMS_PER_LAYOUT }, (_item, index) =>
      createItem(index, number),
    ),
);

function createItem(index: number, layout: number): LayoutItem {
  return {
    i: `item-${layout}-${index}`,
    x: (index % 4) * 3,
    y: Math.floor(index / 4) * 2,
    w: 3,
    h: 2,
    component: COMPONENTS[(index + layout) % COMPONENTS.length],
    props: {
      label: `Field ${index} of page ${layout}`,
      variant: index % 2 ? 'outlined' : 'contained',
      options: { dense: index % 3 === 0, columns: ['id', 'name', 'owner'] },
    },
  };
}
