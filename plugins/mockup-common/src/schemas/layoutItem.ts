import { z } from 'zod';
import { propsSchema } from './props';
import { boundedList, storableText } from './text';

const GRID_POSITION = 'an integer >= 0';
const GRID_SIZE = 'an integer >= 1';
const RESIZE_HANDLES = ['s', 'w', 'e', 'n', 'sw', 'nw', 'se', 'ne'] as const;
const MOST_HANDLES = `at most ${RESIZE_HANDLES.length} handles`;

export const gridPosition = z
  .int({ error: GRID_POSITION })
  .min(0, GRID_POSITION);
const gridSize = z.int({ error: GRID_SIZE }).min(1, GRID_SIZE);
export const flag = z.boolean({ error: 'true or false' });

/** An item of a layout as it is kept. @public */
export const layoutItemSchema = z.strictObject(
  {
    /** Identifies the item within its layout. */
    i: storableText('a string that names the item'),
    /** Column of the left edge in grid units, from 0. */
    x: gridPosition,
    /** Row of the upper edge in grid units, from 0. */
    y: gridPosition,
    /** Width in grid units, at least 1. */
    w: gridSize,
    /** Height in grid units, at least 1. */
    h: gridSize,
    /** The component type. */
    component: storableText('a string that names the component type'),
    /** The properties of the component, kept exactly as they are. */
    props: propsSchema,
    /** Least width in grid units. */
    minW: gridPosition.optional(),
    /** Greatest width in grid units. */
    maxW: gridPosition.optional(),
    /** Least height in grid units. */
    minH: gridPosition.optional(),
    /** Greatest height in grid units. */
    maxH: gridPosition.optional(),
    /** Whether the item can neither be dragged nor resized. */
    static: flag.optional(),
    /** Whether the item can be dragged. */
    isDraggable: flag.optional(),
    /** Whether the item can be resized. */
    isResizable: flag.optional(),
    /** Whether the item can be dragged only within the grid. */
    isBounded: flag.optional(),
    /** The edges and corners by which the item can be resized. */
    resizeHandles: boundedList(
      RESIZE_HANDLES.length,
      MOST_HANDLES,
      z.array(
        z.enum(RESIZE_HANDLES, {
          error: `one of ${RESIZE_HANDLES.join(', ')}`,
        }),
        { error: `a list of ${RESIZE_HANDLES.join(', ')}` },
      ),
    ).optional(),
  },
  { error: 'a layout item' },
);

/**
 * One positioned component of a mockup (specification, A.3). Beside the fields
 * of the specification it can carry those by which react-grid-layout
 * constrains an item.
 *
 * @public
 */
export type LayoutItem = z.infer<typeof layoutItemSchema>;

/**
 * An item of a layout as a client sends it. react-grid-layout keeps state of a
 * drag in progress (`moved`, `placeholder`) in the same objects; the schema drops
 * it, because it means nothing in a saved layout.
 *
 * @public
 */
export const layoutItemInputSchema = layoutItemSchema
  .extend({
    moved: z.unknown().optional(),
    placeholder: z.unknown().optional(),
  })
  .transform(({ moved: _moved, placeholder: _placeholder, ...item }) => item);

/** An edge or corner of a layout item, by compass direction. @public */
export type ResizeHandle = NonNullable<LayoutItem['resizeHandles']>[number];
