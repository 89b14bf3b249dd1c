import { newIdempotencyKey as newId } from '@internal/pages';
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Saved } from '../model/content';
import type { Content } from '../model/editorReducer';
import type { Draft, DraftStore } from './drafts';

/** How long after a change its draft is written: soon, but not at each key. */
const DELAY_MS = 300;

/** Keeps a draft of what is not saved yet in this tab, and none once it is. */
export function useDraft(options: {
  drafts: DraftStore;
  mockupId: string;
  content: Content;
  saved: Saved;
  isChanged: boolean;
  /** Whether what is kept stays as it is. */
  isPaused: boolean;
}) {
  const { drafts, mockupId, content, saved, isChanged, isPaused } = options;
  const [isKept, setKept] = useState<boolean>();
  const latest = useRef(options);
  latest.current = options;
  const isPending = useRef(false);
  /** The draft of this tab, and when it was written last. */
  const own = useRef<{ id: string; at?: string }>({ id: newId() });

  const flush = useCallback(async () => {
    if (!isPending.current) {
      return;
    }
    isPending.current = false;
    const now = latest.current;
    const { id } = own.current;
    try {
      if (now.isChanged) {
        const at = new Date().toISOString();
        await now.drafts.write(now.mockupId, {
          id,
          content: now.content,
          etag: now.saved.etag,
          versionId: now.saved.versionId,
          base: {
            name: now.saved.content.name,
            description: now.saved.content.description,
          },
          at,
        });
        own.current = { id, at };
        setKept(true);
      } else {
        own.current = { id };
        await now.drafts.remove(now.mockupId, id);
        setKept(undefined);
      }
    } catch {
      setKept(false);
    }
  }, []);

  useEffect(() => {
    isPending.current = !isPaused;
    const timer = setTimeout(flush, DELAY_MS);
    return () => clearTimeout(timer);
  }, [drafts, mockupId, content, saved, isChanged, isPaused, flush]);

  useEffect(
    () =>
      drafts.observe(mockupId, () => {
        const { id, at } = own.current;
        const kept = drafts.read(mockupId).find(each => each.id === id);
        if (at !== undefined && kept?.at !== at && !latest.current.isPaused) {
          // It was offered in another tab, which has discarded it or goes on with it.
          own.current = { id: newId() };
          isPending.current = true;
          flush();
        }
      }),
    [drafts, mockupId, flush],
  );

  useEffect(() => {
    // The last chances of a page that is left, or that a phone puts aside.
    window.addEventListener('pagehide', flush);
    document.addEventListener('visibilitychange', flush);
    return () => {
      window.removeEventListener('pagehide', flush);
      document.removeEventListener('visibilitychange', flush);
      flush();
    };
  }, [flush]);

  return {
    /** Whether the browser keeps it; nothing until that is known. */
    isKept,
    /** Takes over a draft that was offered. */
    goOnWith({ id, at }: Pick<Draft, 'id' | 'at'>) {
      own.current = { id, at };
    },
  };
}
