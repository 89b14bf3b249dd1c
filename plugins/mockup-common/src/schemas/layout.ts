import { z } from 'zod';
import { isContainer } from '../containers';
import { MOCKUP_LIMITS } from '../limits';
import { countQueries } from '../queries';
import {
  flag,
  gridPosition,
  type LayoutItem,
  layoutItemInputSchema,
  layoutItemSchema,
} from './layoutItem';
import { boundedList } from './text';

const TOO_MANY = `a list of at most ${MOCKUP_LIMITS.layoutItems} layout items`;
const PHONE = 'an object with an order, with hidden, or with both';
const phonePlace = z.strictObject(
  { order: gridPosition.optional(), hidden: flag.optional() },
  { error: PHONE },
);
const listOfItems = z.array(layoutItemSchema, {
  error: 'a list of layout items',
});

/**
 * A layout: its items, at most {@link MOCKUP_LIMITS}`.layoutItems` of them with those that
 * containers hold, no two with the same `i`, because a duplicate breaks react-grid-layout.
 *
 * @public
 */
export const layoutSchema = boundedList(
  MOCKUP_LIMITS.layoutItems,
  TOO_MANY,
  z.array(layoutItemInputSchema, { error: 'a list of layout items' }),
).superRefine((items, context) => {
  const seen = new Set<string>();
  let count = items.length;
  function checkAll(some: readonly LayoutItem[], path: PropertyKey[]) {
    some.forEach((item, index) => checkItem(item, [...path, index]));
  }

  function checkItem(item: LayoutItem, path: PropertyKey[]) {
    const problem = (key: string, message: string) =>
      context.addIssue({ code: 'custom', path: [...path, key], message });
    if (item.y + item.h > MOCKUP_LIMITS.layoutRows) {
      problem('y', `such that y + h is at most ${MOCKUP_LIMITS.layoutRows}`);
    }
    const { $phone: place } = item.props;
    if (place !== undefined) {
      addIssues(phonePlace.safeParse(place), [...path, 'props', '$phone']);
    }
    if (seen.has(item.i)) {
      problem('i', 'unique within its layout');
    }
    seen.add(item.i);
    if (isContainer(item) && item.props.items !== undefined) {
      checkContainer(item, path, problem);
    }
  }

  function checkContainer(
    item: LayoutItem,
    path: PropertyKey[],
    problem: (key: string, message: string) => void,
  ) {
    const at = [...path, 'props', 'items'];
    if (depthOf(path) > MOCKUP_LIMITS.containerDepth) {
      problem(
        'component',
        `one that holds no items: at most ${MOCKUP_LIMITS.containerDepth} containers are within each other`,
      );
      return;
    }
    const { items: held } = item.props;
    count += Array.isArray(held) ? held.length : 0;
    if (count > MOCKUP_LIMITS.layoutItems) {
      return;
    }
    const parsed = listOfItems.safeParse(held);
    addIssues(parsed, at);
    checkAll(parsed.data ?? [], at);
  }

  function addIssues(
    { error }: z.ZodSafeParseResult<unknown>,
    at: PropertyKey[],
  ) {
    error?.issues.forEach(issue =>
      context.addIssue({
        ...issue,
        path: [...at, ...issue.path],
      } as z.core.$ZodRawIssue),
    );
  }

  checkAll(items, []);
  if (count > MOCKUP_LIMITS.layoutItems) {
    context.addIssue({
      code: 'custom',
      message: `${TOO_MANY}, those within containers included`,
    });
  }
  // Otherwise what is within containers may be no items, or of any depth.
  const queries = context.issues.length === 0 ? countQueries(items) : 0;
  if (queries > MOCKUP_LIMITS.layoutQueries) {
    context.addIssue({
      code: 'custom',
      message: `a layout whose live components ask for at most ${MOCKUP_LIMITS.layoutQueries} different things, not ${queries}`,
    });
  }
});

/** How many containers an item is in, and itself: `0.props.items.1` is the second one. */
function depthOf(path: PropertyKey[]): number {
  return (path.length + 2) / 3;
}
