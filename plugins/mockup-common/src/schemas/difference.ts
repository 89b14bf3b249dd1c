import { z } from 'zod';
import type { JsonPatchOperation, VersionDifference } from '../differences';
import { layoutItemSchema } from './layout';

const flag = z.literal(true).optional();

/**
 * An operation of a JSON Patch (RFC 6902).
 *
 * @public
 */
export const jsonPatchOperationSchema: z.ZodType<JsonPatchOperation> = z.union([
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

/**
 * The differences between two versions of a mockup.
 *
 * @public
 */
export const versionDifferenceSchema: z.ZodType<VersionDifference> =
  z.strictObject({
    from: z.uuid(),
    to: z.uuid(),
    items: z.array(
      z.strictObject({
        i: z.string(),
        within: z.string().optional(),
        change: z.enum(['added', 'removed', 'changed']),
        before: layoutItemSchema.optional(),
        after: layoutItemSchema.optional(),
        moved: flag,
        resized: flag,
        component: flag,
        props: flag,
        other: flag,
      }),
    ),
    patch: z.array(jsonPatchOperationSchema),
  });
