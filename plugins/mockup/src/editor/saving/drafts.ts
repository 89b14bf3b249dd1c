import type { StorageApi } from '@backstage/frontend-plugin-api';
import { layoutSchema } from 'backstage-plugin-mockup-common';
import type { Content } from '../model/editorReducer';
import { openTabs, THIS_TAB } from './tabs';

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

/** A draft with the tab of the browser that has written it. */
export interface KeptDraft extends Draft {
  tab: string;
}

/** How many tabs keep drafts of the same mockup. */
const MOST_TABS = 5;

/**
 * The drafts of one user. A portal with tenants has a storage for each of them, so that a draft
 * stays with its tenant. Each tab of the browser keeps its own draft of a mockup, and writes to
 * no other tab's.
 */
export class DraftStore {
  readonly #storage: StorageApi;
  readonly #tab: string;

  constructor(storageApi: StorageApi, userRef: string, tab = THIS_TAB) {
    this.#storage = storageApi.forBucket(
      `mockup.drafts.${encodeURIComponent(userRef)}`,
    );
    this.#tab = tab;
  }

  /** The drafts that no other open tab works on, the newest first. */
  async list(mockupId: string): Promise<KeptDraft[]> {
    const open = await openTabs();
    return keysOf(mockupId)
      .map(key => this.#readKey(key))
      .filter((draft): draft is KeptDraft => draft !== undefined)
      .filter(({ tab }) => tab === this.#tab || !open.has(tab))
      .sort((one, other) => other.at.localeCompare(one.at));
  }

  /** Rejects with what the browser says where it keeps nothing more. */
  async write(mockupId: string, draft: Draft): Promise<void> {
    const key =
      this.#keyOf(mockupId, this.#tab) ?? this.#keyOf(mockupId, undefined);
    if (key === undefined) {
      throw new Error(`${MOST_TABS} other tabs have drafts of this mockup`);
    }
    await this.#set(key, draft);
  }

  /** Goes on with the draft of a tab that is gone. */
  async adopt(mockupId: string, tab: string): Promise<void> {
    const key = this.#keyOf(mockupId, tab);
    const draft = key && this.#readKey(key);
    if (draft && tab !== this.#tab) {
      await this.remove(mockupId);
      await this.#set(key, draft);
    }
  }

  /** Removes the draft of a tab, this one by default. */
  async remove(mockupId: string, tab = this.#tab): Promise<void> {
    const key = this.#keyOf(mockupId, tab);
    if (key !== undefined) {
      await this.#storage.remove(key);
    }
  }

  /** Where a tab has its draft; with no tab, where there is room for another. */
  #keyOf(mockupId: string, tab: string | undefined): string | undefined {
    return keysOf(mockupId).find(key => this.#readKey(key)?.tab === tab);
  }

  async #set(key: string, draft: Draft): Promise<void> {
    const kept: KeptDraft = { ...draft, tab: this.#tab };
    await this.#storage.set(key, JSON.parse(JSON.stringify(kept)));
  }

  #readKey(key: string): KeptDraft | undefined {
    const { value } = this.#storage.snapshot(key);
    return isDraft(value) ? value : undefined;
  }
}

function keysOf(mockupId: string): string[] {
  return Array.from({ length: MOST_TABS }, (_, at) =>
    at === 0 ? mockupId : `${mockupId}.${at}`,
  );
}

/** The storage is the browser's: anything may have written to it. */
function isDraft(value: unknown): value is KeptDraft {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  const { content, base, etag, at, tab } = value as Partial<KeptDraft>;
  return (
    typeof etag === 'string' &&
    typeof at === 'string' &&
    typeof tab === 'string' &&
    typeof base?.name === 'string' &&
    typeof base.description === 'string' &&
    typeof content?.name === 'string' &&
    typeof content.description === 'string' &&
    layoutSchema.safeParse(content.items).success
  );
}
