import {
  appLanguageApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import type { Version } from 'backstage-plugin-mockup-common';
import { useMemo } from 'react';
import { mockupTranslationRef } from '../translation';

/** What a version is called: by its tag, or by when it was saved. */
export function useVersionTitle(): (
  version: Pick<Version, 'versionTag' | 'createdAt'>,
) => string {
  const { t } = useTranslationRef(mockupTranslationRef);
  const { language } = useApi(appLanguageApiRef).getLanguage();
  return useMemo(() => {
    const moments = new Intl.DateTimeFormat(language, {
      dateStyle: 'medium',
      timeStyle: 'medium',
    });
    return ({ versionTag, createdAt }) =>
      versionTag ||
      t('history.untagged', { at: moments.format(new Date(createdAt)) });
  }, [t, language]);
}
