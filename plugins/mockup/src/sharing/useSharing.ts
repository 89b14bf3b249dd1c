import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { statusOf, useRead } from '@internal/pages';
import type { MockupShare } from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import { mockupApiRef, MOST_TRIES } from '../api';
import { mockupTranslationRef } from '../translation';

/** With whom a mockup is shared, as the backend has it. */
export interface Sharing {
  shares: MockupShare[];
  owner: string;
  etag: string;
}

/** The entity tags of a mockup before and after it was shared. */
export interface SharedChange {
  before: string;
  after: string;
}

/** Reads with whom a mockup is shared, and changes it only over what was read. */
export function useSharing(mockupId: string) {
  const api = useApi(mockupApiRef);
  const { t } = useTranslationRef(mockupTranslationRef);
  const [newer, setNewer] = useState<Sharing>();
  const [conflict, setConflict] = useState<Sharing>();

  const read = async (): Promise<Sharing> => {
    const found = await api.getMockup(mockupId);
    if (!found) {
      throw new Error(t('sharing.missing'));
    }
    const { owner, shares = [] } = found.mockup;
    return { shares, owner, etag: found.etag };
  };
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const opened = useRead(read, [api, mockupId]);
  const current = newer ?? opened.value;

  /** @returns what was changed; false if another user has changed it meanwhile */
  const save = async (
    shares: MockupShare[],
  ): Promise<SharedChange | 'unchanged' | false> => {
    let over = current;
    for (let tries = 1; over && !isSame(shares, over.shares); tries += 1) {
      try {
        const { etag } = await api.shareMockup(
          mockupId,
          { shares },
          { ifMatch: over.etag },
        );
        return { before: over.etag, after: etag };
      } catch (error) {
        if (statusOf(error) !== 412 || tries === MOST_TRIES) {
          throw error;
        }
        const now = await read();
        if (!isSame(now.shares, over.shares) && !isSame(now.shares, shares)) {
          setNewer(now);
          setConflict(now);
          return false;
        }
        // Something else of the mockup was changed, or the answer was lost on its way.
        over = now;
      }
    }
    return 'unchanged';
  };

  return {
    current,
    conflict,
    /** How it was read when it was opened. */
    opened,
    save,
    forgetConflict: () => setConflict(undefined),
  };
}

/** Whether the same groups may do the same, in whatever order. */
function isSame(some: MockupShare[], others: MockupShare[]): boolean {
  const known = new Map(others.map(({ group, access }) => [group, access]));
  return (
    some.length === others.length &&
    some.every(({ group, access }) => known.get(group) === access)
  );
}
