import { itemsWithin, layoutItemSchema } from 'backstage-plugin-mockup-common';
import type { Content } from '../model/editorReducer';

/** What was not saved when the page was left, or was lost. */
export interface Draft {
  /** That of the tab that made it. */
  id: string;
  content: Content;
  /** What it was made from, whose layout is that of a version. */
  etag: string;
  versionId?: string;
  base: Pick<Content, 'name' | 'description'>;
  /** In ISO 8601. */
  at: string;
}

/**
 * The drafts of one user in this browser, for each mockup one of each tab, the newest first. The
 * app's storageApi may be that of the user settings, which sends them away and has no snapshot.
 */
export class DraftStore {
  constructor(private readonly userRef: string) {}

  read(mockupId: string): Draft[] {
    try {
      const text = window.localStorage.getItem(this.#keyOf(mockupId));
      const value: unknown = JSON.parse(text ?? '[]');
      return Array.isArray(value) ? value.filter(isDraft) : [];
    } catch {
      return [];
    }
  }

  /** Rejects where the browser keeps nothing more, or something else than could be offered. */
  async write(mockupId: string, draft: Draft): Promise<void> {
    this.#set(mockupId, [draft, ...this.#without(mockupId, draft.id)]);
    if (this.read(mockupId).every(({ id }) => id !== draft.id)) {
      throw new Error('The draft cannot be read again');
    }
  }

  async remove(mockupId: string, draftId: string): Promise<void> {
    this.#set(mockupId, this.#without(mockupId, draftId));
  }

  /** Calls the listener when another tab has changed the drafts, until the returned function is called. */
  observe(mockupId: string, listener: () => void): () => void {
    const onStorage = ({ key }: StorageEvent) =>
      key === this.#keyOf(mockupId) && listener();
    window.addEventListener('storage', onStorage);
    return () => window.removeEventListener('storage', onStorage);
  }

  #keyOf(mockupId: string): string {
    return `mockup.drafts/${encodeURIComponent(this.userRef)}/${mockupId}`;
  }

  #without(mockupId: string, draftId: string): Draft[] {
    return this.read(mockupId).filter(({ id }) => id !== draftId);
  }

  #set(mockupId: string, drafts: Draft[]): void {
    const key = this.#keyOf(mockupId);
    if (drafts.length > 0) {
      window.localStorage.setItem(key, JSON.stringify(drafts));
    } else {
      window.localStorage.removeItem(key);
    }
  }
}

/** The storage is the browser's: anything may have written to it. */
function isDraft(value: unknown): value is Draft {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  const { id, content, base, etag, at } = value as Partial<Draft>;
  return (
    typeof id === 'string' &&
    typeof etag === 'string' &&
    typeof at === 'string' &&
    typeof base?.name === 'string' &&
    typeof base.description === 'string' &&
    typeof content?.name === 'string' &&
    typeof content.description === 'string' &&
    areItems(content.items)
  );
}

/** Whether they can be edited. One beyond a limit, which no version may have, must not lose the rest. */
function areItems(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(each => {
      const { data: item } = layoutItemSchema.safeParse(each);
      return item !== undefined && areItems(itemsWithin(item));
    })
  );
}
