import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Text } from '@backstage/ui';
import { pagesTranslationRef } from './translation';
import { useIsSlow } from './useIsSlow';

/** Says so once the backend takes long for what the user has asked for. */
export function SlowNote({ isPending }: { isPending: boolean }) {
  const { t } = useTranslationRef(pagesTranslationRef);
  const isSlow = useIsSlow(isPending);
  return (
    <div role="status">{isSlow && <Text as="p">{t('slow.waiting')}</Text>}</div>
  );
}
