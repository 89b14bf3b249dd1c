import type {
  LayoutItem,
  MockupWithLatestVersion,
} from 'backstage-plugin-mockup-common';
import type { Content } from './editorReducer';

/** What the backend has of a mockup. */
export interface Saved {
  content: Content;
  etag: string;
  /** The newest version, nothing while there is none. */
  versionId?: string;
  /** Who has saved that, and when. */
  savedBy?: string;
  savedAt?: string;
  updatedAt: string;
}

export function savedOf(answer: {
  mockup: MockupWithLatestVersion;
  etag: string;
}): Saved {
  const { name, description = '', latestVersion, updatedAt } = answer.mockup;
  return {
    content: { name, description, items: latestVersion?.layoutData ?? [] },
    etag: answer.etag,
    versionId: latestVersion?.id,
    savedBy: latestVersion?.createdBy,
    savedAt: latestVersion?.createdAt,
    updatedAt,
  };
}

export function isSameContent(a: Content, b: Content): boolean {
  return (
    a === b ||
    (a.name === b.name &&
      a.description === b.description &&
      isSameLayout(a.items, b.items))
  );
}

/** Whether two layouts are the same, in the same order. */
export function isSameLayout(
  a: readonly LayoutItem[],
  b: readonly LayoutItem[],
): boolean {
  return (
    a === b ||
    (a.length === b.length &&
      a.every((item, index) => isSameValue(item, b[index])))
  );
}

/** Whether two values are the same as JSON, in whatever order the keys of objects are. */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b) {
    return true;
  }
  if (
    typeof a !== 'object' ||
    typeof b !== 'object' ||
    a === null ||
    b === null ||
    Array.isArray(a) !== Array.isArray(b)
  ) {
    return false;
  }
  const entries = Object.entries(a).filter(([, value]) => value !== undefined);
  const others = Object.entries(b).filter(([, value]) => value !== undefined);
  const known = new Map(others);
  return (
    entries.length === others.length &&
    entries.every(
      ([key, value]) => known.has(key) && isSameValue(value, known.get(key)),
    )
  );
}
