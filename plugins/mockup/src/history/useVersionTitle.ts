import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { useExactTime } from '@internal/pages';
import type { Version } from 'backstage-plugin-mockup-common';
import { useCallback } from 'react';
import { mockupTranslationRef } from '../translation';

/** What a version is called: by its tag, or by when it was saved. */
export function useVersionTitle(): (
  version: Pick<Version, 'versionTag' | 'createdAt'>,
) => string {
  const { t } = useTranslationRef(mockupTranslationRef);
  const exactly = useExactTime();
  return useCallback(
    ({ versionTag, createdAt }) =>
      versionTag?.trim() || t('history.untagged', { at: exactly(createdAt) }),
    [t, exactly],
  );
}
