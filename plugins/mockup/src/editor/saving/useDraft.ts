import { useCallback, useEffect, useRef, useState } from 'react';
import type { Saved } from '../model/content';
import type { Content } from '../model/editorReducer';
import type { DraftStore } from './drafts';

/** How long after a change its draft is written: soon, but not at each key. */
const DELAY_MS = 300;

/**
 * Keeps a draft of what is not saved yet, and none once it is. Tabs that edit the same mockup share
 * one: it is that of the last change, and the others say that theirs is not kept.
 *
 * @returns whether the browser keeps it; nothing until that is known
 */
export function useDraft(options: {
  drafts: DraftStore;
  mockupId: string;
  content: Content;
  saved: Saved;
  isChanged: boolean;
  /** Whether what is kept stays as it is. */
  isPaused: boolean;
}): boolean | undefined {
  const { drafts, mockupId, content, saved, isChanged, isPaused } = options;
  const [isKept, setKept] = useState<boolean>();
  const latest = useRef(options);
  latest.current = options;
  const isPending = useRef(false);
  /** When the draft was made that this tab has written last. */
  const own = useRef<string>();

  const flush = useCallback(async () => {
    if (!isPending.current) {
      return;
    }
    isPending.current = false;
    const now = latest.current;
    try {
      own.current = now.isChanged ? new Date().toISOString() : undefined;
      if (own.current !== undefined) {
        await now.drafts.write(now.mockupId, {
          content: now.content,
          etag: now.saved.etag,
          versionId: now.saved.versionId,
          base: {
            name: now.saved.content.name,
            description: now.saved.content.description,
          },
          at: own.current,
        });
        setKept(true);
      } else {
        await now.drafts.remove(now.mockupId);
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
      drafts.observe(mockupId, at => {
        const { isChanged: hasDraft, isPaused: isOffered } = latest.current;
        if (!hasDraft || isOffered || at === own.current) {
          return;
        }
        if (at === undefined) {
          // Another tab has saved what it had, or thrown it away.
          isPending.current = true;
          flush();
        } else {
          setKept(false);
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

  return isKept;
}
