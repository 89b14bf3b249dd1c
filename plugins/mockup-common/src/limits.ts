/**
 * What a file of exported mockups says of itself: the `schema` is the kind of file, the
 * `version` its form. A backend reads no other version.
 *
 * @public
 */
export const MOCKUP_FILE = {
  schema: 'backstage-plugin-mockup/mockups',
  version: 1,
} as const;

/**
 * The bounds on everything that a caller can send to the mockup plugin.
 *
 * @remarks
 *
 * `name`, `description`, `versionTag` and `message` count characters as PostgreSQL's
 * `char_length` and JSON Schema's `maxLength` do, which is Unicode code points
 * and not UTF-16 units: an emoji is one character. Their values come from the
 * specification, "Limits"; the other bounds keep one request from exhausting
 * the backend.
 *
 * @public
 */
export const MOCKUP_LIMITS = {
  /** Characters in the name of a mockup, at least one. */
  name: 255,
  /** Characters in the description of a mockup. */
  description: 1000,
  /** Characters in the tag of a version. */
  versionTag: 50,
  /** Characters in the message of a version. */
  message: 1000,
  /** Groups that one mockup is shared with. */
  shares: 50,
  /** Characters in the path of a page. */
  pagePath: 100,
  /** Pages of one tenant. */
  pages: 500,
  /** Characters in a comment, at least one. */
  comment: 2000,
  /** Characters in the name of the item that a comment is about. */
  commentItem: 255,
  /** Comments on one mockup. */
  comments: 500,
  /** Users and names that one comment mentions; others are not notified. */
  mentions: 20,
  /** Items in one layout, those within containers included. */
  layoutItems: 1000,
  /** Different things that the live components of one layout ask for. */
  layoutQueries: 100,
  /** How many containers are within each other. */
  containerDepth: 2,
  /** Rows of a layout: `y + h` of each item. */
  layoutRows: 1_000_000,
  /** How deep the `props` of a layout item may nest. */
  propsDepth: 100,
  /** Bytes in the body of one request. */
  bodyBytes: 1024 * 1024,
  /**
   * Bytes of one layout, and of all layouts on one page of versions, as the
   * database writes them out: it gives a number all of its digits.
   */
  layoutBytes: 4 * 1024 * 1024,
  /** Mockups in one file to import. */
  importedMockups: 10_000,
  /** Entries in one page of a list. */
  pageSize: 500,
  /** Entries in one page where the caller asks for no other number. */
  defaultPageSize: 100,
} as const;
