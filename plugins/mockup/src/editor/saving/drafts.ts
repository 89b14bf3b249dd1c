import type { StorageApi } from '@backstage/frontend-plugin-api';
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
 * The drafts of one user, for each mockup one of each tab, the newest first. A portal with tenants
 * has a storage for each of them, so that a draft stays with its tenant.
 */
export class DraftStore {
  readonly #storage: StorageApi;

  constructor(storageApi: StorageApi, userRef: string) {
    this.#storage = storageApi.forBucket(
      `mockup.drafts.${encodeURIComponent(userRef)}`,
    );
  }

  read(mockupId: string): Draft[] {
    const value: unknown = this.#storage.snapshot(mockupId).value;
    return Array.isArray(value) ? value.filter(isDraft) : [];
  }

  /** Rejects where the browser keeps nothing more, or something else than could be offered. */
  async write(mockupId: string, draft: Draft): Promise<void> {
    await this.#set(mockupId, [draft, ...this.#without(mockupId, draft.id)]);
    if (this.read(mockupId).every(({ id }) => id !== draft.id)) {
      throw new Error('The draft cannot be read again');
    }
  }

  async remove(mockupId: string, draftId: string): Promise<void> {
    await this.#set(mockupId, this.#without(mockupId, draftId));
  }

  /**
   * Calls the listener when the drafts of the mockup have changed, in whatever tab, until the
   * returned function is called.
   */
  observe(mockupId: string, listener: () => void): () => void {
    const subscription = this.#storage.observe$(mockupId).subscribe(listener);
    return () => subscription.unsubscribe();
  }

  #without(mockupId: string, draftId: string): Draft[] {
    return this.read(mockupId).filter(({ id }) => id !== draftId);
  }

  async #set(mockupId: string, drafts: Draft[]): Promise<void> {
    await (drafts.length > 0
      ? this.#storage.set(mockupId, JSON.parse(JSON.stringify(drafts)))
      : this.#storage.remove(mockupId));
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
