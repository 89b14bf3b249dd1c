import { useApi } from '@backstage/frontend-plugin-api';
import { statusOf } from '@internal/pages';
import {
  isEqualJson,
  type SaveVersionRequest,
} from 'backstage-plugin-mockup-common';
import { useRef, useState } from 'react';
import { mockupApiRef, MOST_TRIES } from '../../api';
import type { SharedChange } from '../../sharing/useSharing';
import { type Saved, savedOf } from '../model/content';
import type { Content } from '../model/editorReducer';

/** What the user says of the version that they save. */
export type VersionNote = Pick<SaveVersionRequest, 'versionTag' | 'message'>;

/** Why something was not saved. */
interface SaveFailure {
  error: unknown;
  /** Whether the mockup was deleted meanwhile, or is no longer the user's to see. */
  isGone: boolean;
}

/** The mockup has been deleted meanwhile. */
class MockupGone extends Error {}

/**
 * Saves a mockup, only over what was there when it was read. The name and description are one
 * request and the layout another: where the second fails the first is done.
 */
export function useSaving(mockupId: string, opened: Saved) {
  const api = useApi(mockupApiRef);
  const [saved, setSaved] = useState(opened);
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<SaveFailure>();
  /** What another user has saved since. */
  const [conflict, setConflict] = useState<Saved>();
  /** What the user has said of a version that is not saved yet. */
  const [unsavedNote, setUnsavedNote] = useState<VersionNote>({});
  const isUnderWay = useRef(false);
  /** What was sent since the last save that succeeded: the answer to one may have been lost. */
  const attempts = useRef<{ content: Content; note: VersionNote }[]>([]);

  /** Sends what differs from what is saved. */
  const send = async (
    content: Content,
    over: Saved,
    note: VersionNote,
  ): Promise<void> => {
    let next = over;
    const { name, description, items } = content;
    attempts.current.push({ content, note });
    if (
      name !== over.content.name ||
      description !== over.content.description
    ) {
      const { mockup, etag } = await api.updateMockup(
        mockupId,
        { name, description: description || null },
        { ifMatch: next.etag },
      );
      next = {
        ...next,
        etag,
        updatedAt: mockup.updatedAt,
        content: { ...next.content, name, description },
      };
      setSaved(next);
    }
    if (
      Object.keys(note).length > 0 ||
      next.versionId === undefined ||
      !isEqualJson(items, next.content.items)
    ) {
      const { version, etag } = await api.saveVersion(
        mockupId,
        { layoutData: [...items], ...note },
        { ifMatch: next.etag },
      );
      setSaved({
        content,
        etag,
        versionId: version.id,
        savedBy: version.createdBy,
        savedAt: version.createdAt,
        updatedAt: version.createdAt,
      });
    }
    attempts.current = [];
  };

  /**
   * After a 412: what is there now.
   *
   * @returns what to save over and with which note, where there is nothing to choose
   */
  const compare = async (
    content: Content,
    over: Saved,
    note: VersionNote,
  ): Promise<{ over: Saved; note: VersionNote } | 'saved' | undefined> => {
    const answer = await api.getMockup(mockupId);
    if (!answer) {
      throw new MockupGone();
    }
    const theirs = savedOf(answer);
    const { versionTag, message } = answer.mockup.latestVersion ?? {};
    const isMade = (attempt: { content: Content; note: VersionNote }) =>
      (attempt.note.versionTag ?? versionTag) === versionTag &&
      (attempt.note.message ?? message) === message &&
      isEqualJson(theirs.content, attempt.content);
    if (isMade({ content, note })) {
      // It was this page: saved, but the answer was lost on its way.
      setSaved(theirs);
      return 'saved';
    }
    const made = attempts.current.find(isMade);
    const isUntouched = (field: 'name' | 'description') =>
      [over, ...attempts.current].some(
        before => before.content[field] === theirs.content[field],
      );
    if (
      (made || theirs.versionId === over.versionId) &&
      isUntouched('name') &&
      isUntouched('description')
    ) {
      // It was shared meanwhile, a version has got a tag, or the answer to an earlier attempt was lost.
      return { over: theirs, note: made?.note === note ? {} : note };
    }
    setConflict(theirs);
    return undefined;
  };

  /** @returns whether it is saved; otherwise there is a conflict */
  const sendOrCompare = async (
    content: Content,
    over: Saved,
    note: VersionNote,
  ): Promise<boolean> => {
    let next: Awaited<ReturnType<typeof compare>> = { over, note };
    for (let tries = 1; next && next !== 'saved'; tries += 1) {
      const base: Saved = next.over;
      const rest: VersionNote = next.note;
      try {
        await send(content, base, rest);
        next = 'saved';
      } catch (error) {
        if (statusOf(error) !== 412 || tries === MOST_TRIES) {
          throw error;
        }
        next = await compare(content, base, rest);
      }
    }
    if (next) {
      setConflict(undefined);
    }
    return next !== undefined;
  };

  /** @returns whether it is saved */
  const save = async (
    content: Content,
    note: VersionNote = unsavedNote,
    over: Saved = saved,
  ): Promise<boolean> => {
    if (isUnderWay.current) {
      return false;
    }
    isUnderWay.current = true;
    setPending(true);
    setUnsavedNote(note);
    try {
      const isSaved = await sendOrCompare(content, over, note);
      setFailure(undefined);
      if (isSaved) {
        setUnsavedNote({});
      }
      return isSaved;
    } catch (error) {
      const isGone = error instanceof MockupGone || statusOf(error) === 404;
      setFailure({ error, isGone });
      return false;
    } finally {
      isUnderWay.current = false;
      setPending(false);
    }
  };

  return {
    saved,
    isPending,
    failure,
    conflict,
    unsavedNote,
    save,
    /** Continues from what another user has saved. */
    startFrom(theirs: Saved, note: VersionNote = {}) {
      attempts.current = [];
      setSaved(theirs);
      setUnsavedNote(note);
      setConflict(undefined);
      setFailure(undefined);
    },
    /** Goes on after this page has shared the mockup, which changed its entity tag. */
    followShared({ before, after }: SharedChange) {
      // Otherwise another user has saved in between, and the next save has to show that.
      setSaved(now => (now.etag === before ? { ...now, etag: after } : now));
    },
    forgetConflict: () => setConflict(undefined),
  };
}
