import { z } from 'zod';
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

/** A mockup in a file of exported ones, without its versions. @public */
export const mockupFileMockupSchema = z.strictObject(
  {
    /** 1 to 255 characters. */
    name,
    /** At most 1000 characters. */
    description: description.optional(),
    /** Whose it was where it was exported. An import makes the caller its owner. */
    owner: user.optional(),
    /** When it was created, in ISO 8601 and UTC. */
    createdAt: time,
    /** When it last changed, in ISO 8601 and UTC. */
    updatedAt: time,
  },
  { error: 'a mockup' },
);

/** A mockup in a file of exported ones, without its versions. @public */
export type MockupFileMockup = z.infer<typeof mockupFileMockupSchema>;

/** A version in a file of exported mockups. @public */
export const mockupFileVersionSchema = z.strictObject(
  {
    /** A name for the version, at most 50 characters. */
    versionTag: versionTag.optional(),
    /** What has changed, at most 1000 characters. */
    message: message.optional(),
    /** The layout. */
    layoutData: layoutSchema,
    /** The user who saved it, as `user:<namespace>/<name>`. */
    createdBy: user,
    /** When it was saved, in ISO 8601 and UTC. */
    createdAt: time,
    /** The version that it restored, by its place among those of the mockup, from 0. */
    restoredFrom: z
      .int({ error: 'the place of an earlier version of the mockup, from 0' })
      .min(0, 'the place of an earlier version of the mockup, from 0')
      .optional(),
  },
  { error: 'a version' },
);

/** A version in a file of exported mockups. @public */
export type MockupFileVersion = z.infer<typeof mockupFileVersionSchema>;
