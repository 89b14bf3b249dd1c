import { z } from 'zod';
import { layoutItemSchema } from './layoutItem';

const flag = z.literal(true).optional();

/** An operation of a JSON Patch (RFC 6902). @public */
export const jsonPatchOperationSchema = z.union([
  z.strictObject({
    op: z.enum(['add', 'replace']),
    path: z.string(),
    value: z.unknown(),
  }),
  z.strictObject({ op: z.literal('remove'), path: z.string() }),
  z.strictObject({
    op: z.literal('move'),
    from: z.string(),
    path: z.string(),
  }),
]);

/** An operation of a JSON Patch (RFC 6902), of the kinds that a comparison uses. @public */
export type JsonPatchOperation = z.infer<typeof jsonPatchOperationSchema>;

/** The differences between two versions of a mockup. @public */
export const versionDifferenceSchema = z.strictObject({
  /** The id of the first version. */
  from: z.uuid(),
  /** The id of the second version. */
  to: z.uuid(),
  /**
   * The items that differ: those removed, in the order of the first layout, and then those
   * added or changed, in the order of the second.
   */
  items: z.array(
    z.strictObject({
      /** The `i` of the item. */
      i: z.string(),
      /** The `i` of the container that it is in, in the second layout unless it was removed. */
      within: z.string().optional(),
      /** Whether it is in the second layout only, in the first only, or differs. */
      change: z.enum(['added', 'removed', 'changed']),
      /** The item in the first layout, unless it was added. */
      before: layoutItemSchema.optional(),
      /** The item in the second layout, unless it was removed. */
      after: layoutItemSchema.optional(),
      /** Set if `x`, `y` or the container of a changed item differ. */
      moved: flag,
      /** Set if `w` or `h` of a changed item differ. */
      resized: flag,
      /** Set if the component type of a changed item differs. */
      component: flag,
      /** Set if the properties of a changed item differ, except for the items that it holds. */
      props: flag,
      /** Set if any other field of a changed item differs, such as `static`. */
      other: flag,
    }),
  ),
  /**
   * A JSON Patch (RFC 6902) that turns the list of items of the first layout into that of the
   * second, the order of the items included.
   */
  patch: z.array(jsonPatchOperationSchema),
});

/** The differences between two versions of a mockup. @public */
export type VersionDifference = z.infer<typeof versionDifferenceSchema>;

/** The differences between two layouts. @public */
export type LayoutDifference = Pick<VersionDifference, 'items' | 'patch'>;

/** What became of one item between two layouts. @public */
export type ItemDifference = VersionDifference['items'][number];
