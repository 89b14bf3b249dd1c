import { z } from 'zod';
import type { MockupFileMockup, MockupFileVersion } from '../types';
import { layoutSchema } from './layout';
import { description, message, name, versionTag } from './mockup';
import { storableText } from './text';

const TIME = 'a time in ISO 8601 and UTC, such as 2026-01-31T12:00:00.000Z';
const USER = 'a user reference of the form user:<namespace>/<name>';

// PostgreSQL has no year 0.
const time = z.iso
  .datetime({ error: TIME })
  .refine(text => !text.startsWith('0000'), { error: TIME });
const user = storableText(USER).regex(/^user:[^/]+\/.+$/, USER);

/**
 * A mockup in a file of exported ones, without its versions.
 *
 * @public
 */
export const mockupFileMockupSchema: z.ZodType<MockupFileMockup> =
  z.strictObject(
    {
      name,
      description: description.optional(),
      owner: user.optional(),
      createdAt: time,
      updatedAt: time,
    },
    { error: 'a mockup' },
  );

/**
 * A version in a file of exported mockups.
 *
 * @public
 */
export const mockupFileVersionSchema: z.ZodType<MockupFileVersion> =
  z.strictObject(
    {
      versionTag: versionTag.optional(),
      message: message.optional(),
      layoutData: layoutSchema,
      createdBy: user,
      createdAt: time,
      restoredFrom: z
        .int({ error: 'the place of an earlier version of the mockup, from 0' })
        .min(0, 'the place of an earlier version of the mockup, from 0')
        .optional(),
    },
    { error: 'a version' },
  );
