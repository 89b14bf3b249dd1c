import { z } from 'zod';
import { MOCKUP_LIMITS } from '../limits';
import type { LayoutItem } from '../types';
import { propsSchema } from './props';
import { storableText } from './text';

const GRID_POSITION = 'an integer >= 0';
const GRID_SIZE = 'an integer >= 1';
const RESIZE_HANDLES = ['s', 'w', 'e', 'n', 'sw', 'nw', 'se', 'ne'] as const;

const gridPosition = z.int({ error: GRID_POSITION }).min(0, GRID_POSITION);
const gridSize = z.int({ error: GRID_SIZE }).min(1, GRID_SIZE);
const flag = z.boolean({ error: 'true or false' });

const layoutItem = z.strictObject(
  {
    i: storableText('a string that names the item'),
    x: gridPosition,
    y: gridPosition,
    w: gridSize,
    h: gridSize,
    component: storableText('a string that names the component type'),
    props: propsSchema,
    minW: gridPosition.optional(),
    maxW: gridPosition.optional(),
    minH: gridPosition.optional(),
    maxH: gridPosition.optional(),
    static: flag.optional(),
    isDraggable: flag.optional(),
    isResizable: flag.optional(),
    isBounded: flag.optional(),
    resizeHandles: z
      .array(
        z.enum(RESIZE_HANDLES, {
          error: `one of ${RESIZE_HANDLES.join(', ')}`,
        }),
        { error: `a list of ${RESIZE_HANDLES.join(', ')}` },
      )
      .max(RESIZE_HANDLES.length, `at most ${RESIZE_HANDLES.length} handles`)
      .optional(),
  },
  { error: 'a layout item' },
);

/**
 * An item of a layout as it is kept.
 *
 * @public
 */
export const layoutItemSchema: z.ZodType<LayoutItem> = layoutItem;

/**
 * An item of a layout as a client sends it. react-grid-layout keeps state of a
 * drag in progress (`moved`, `placeholder`) in the same objects; the schema drops
 * it, because it means nothing in a saved layout.
 *
 * @public
 */
export const layoutItemInputSchema: z.ZodType<LayoutItem> = layoutItem
  .extend({
    moved: z.unknown().optional(),
    placeholder: z.unknown().optional(),
  })
  .transform(({ moved: _moved, placeholder: _placeholder, ...item }) => item);

/**
 * A layout: its items, at most {@link MOCKUP_LIMITS}`.layoutItems` of them,
 * no two with the same `i`, because a duplicate breaks react-grid-layout.
 *
 * @public
 */
export const layoutSchema: z.ZodType<LayoutItem[]> = z
  .array(layoutItemInputSchema, { error: 'a list of layout items' })
  .max(MOCKUP_LIMITS.layoutItems, {
    error: `a list of at most ${MOCKUP_LIMITS.layoutItems} layout items`,
    abort: true,
  })
  .superRefine((items, context) => {
    const seen = new Set<string>();
    items.forEach(({ i, y, h }, index) => {
      if (y + h > MOCKUP_LIMITS.layoutRows) {
        context.addIssue({
          code: 'custom',
          path: [index, 'y'],
          message: `such that y + h is at most ${MOCKUP_LIMITS.layoutRows}`,
        });
      }
      if (seen.has(i)) {
        context.addIssue({
          code: 'custom',
          path: [index, 'i'],
          message: 'unique within its layout',
        });
      }
      seen.add(i);
    });
  });
