import {
  appLanguageApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { useEntityPresentation } from '@backstage/plugin-catalog-react';
import { Text } from '@backstage/ui';
import { useEffect, useState } from 'react';
import { mockupApiRef } from '../api';
import { mockupTranslationRef } from '../translation';

/** The backend forgets an editor that has not been heard of for 45 seconds. */
const INTERVAL_MS = 20_000;

/** Says who else edits the mockup, and tells the others of this user. */
export function OtherEditors({ mockupId }: { mockupId: string }) {
  const api = useApi(mockupApiRef);
  const [others, setOthers] = useState<string[]>([]);
  useEffect(() => {
    let isLeft = false;
    const announce = async () => {
      // Who looks at another tab does not edit this one.
      if (document.visibilityState === 'hidden') {
        return;
      }
      try {
        const found = await api.announceEditor(mockupId);
        if (!isLeft) {
          setOthers(found);
        }
      } catch {
        // It is said where it matters: when the user saves.
      }
    };
    announce();
    const timer = setInterval(announce, INTERVAL_MS);
    return () => {
      isLeft = true;
      clearInterval(timer);
    };
  }, [api, mockupId]);
  return (
    <div role="status">{others.length > 0 && <Names refs={others} />}</div>
  );
}

function Names({ refs }: { refs: string[] }) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const [first, ...more] = refs;
  const { primaryTitle } = useEntityPresentation(first);
  const { language } = useApi(appLanguageApiRef).getLanguage();
  const names = new Intl.ListFormat(language).format([
    primaryTitle,
    ...more.map(each => each.replace(/^user:(default\/)?/, '')),
  ]);
  return (
    <Text as="p">{t('review.editors', { names, count: refs.length })}</Text>
  );
}
