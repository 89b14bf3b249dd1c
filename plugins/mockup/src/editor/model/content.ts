import type { MockupWithLatestVersion } from 'backstage-plugin-mockup-common';
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
