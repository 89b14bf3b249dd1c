import type { StorageApi } from '@backstage/frontend-plugin-api';
import { layoutSchema } from 'backstage-plugin-mockup-common';
import type { Content } from '../model/editorReducer';

/** What was not saved when the page was left, or was lost. */
export interface Draft {
  content: Content;
  /** What it was made from, whose layout is that of a version. */
  etag: string;
  versionId?: string;
  base: Pick<Content, 'name' | 'description'>;
  /** In ISO 8601. */
  at: string;
}

/**
 * The drafts of one user, one of each mockup. A portal with tenants has a storage for each of them,
 * so that a draft stays with its tenant.
 */
export class DraftStore {
  readonly #storage: StorageApi;

  constructor(storageApi: StorageApi, userRef: string) {
    this.#storage = storageApi.forBucket(
      `mockup.drafts.${encodeURIComponent(userRef)}`,
    );
  }

  read(mockupId: string): Draft | undefined {
    const { value } = this.#storage.snapshot(mockupId);
    return isDraft(value) ? value : undefined;
  }

  /** Rejects with what the browser says where it keeps nothing more. */
  async write(mockupId: string, draft: Draft): Promise<void> {
    await this.#storage.set(mockupId, JSON.parse(JSON.stringify(draft)));
  }

  async remove(mockupId: string): Promise<void> {
    await this.#storage.remove(mockupId);
  }

  /**
   * Calls the listener with when the draft was made that is kept from then on, or with nothing where
   * none is, until the returned function is called. Another tab may have written or removed it.
   */
  observe(
    mockupId: string,
    listener: (at: string | undefined) => void,
  ): () => void {
    const subscription = this.#storage
      .observe$<{ at?: string }>(mockupId)
      .subscribe(({ value }) => listener(value?.at));
    return () => subscription.unsubscribe();
  }
}

/** The storage is the browser's: anything may have written to it. */
function isDraft(value: unknown): value is Draft {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  const { content, base, etag, at } = value as Partial<Draft>;
  return (
    typeof etag === 'string' &&
    typeof at === 'string' &&
    typeof base?.name === 'string' &&
    typeof base.description === 'string' &&
    typeof content?.name === 'string' &&
    typeof content.description === 'string' &&
    layoutSchema.safeParse(content.items).success
  );
}
