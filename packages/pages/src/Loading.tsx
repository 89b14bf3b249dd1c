import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Text, VisuallyHidden } from '@backstage/ui';
import { Skeleton } from './Skeleton';
import { pagesTranslationRef } from './translation';
import { useIsSlow } from './useIsSlow';

/** In the place of what is not there yet. It says so once that takes long. */
export function Loading(props: {
  height?: number;
  /** What is loaded; `Loading…` where it is not given. */
  label?: string;
}) {
  const { height = 240, label } = props;
  const { t } = useTranslationRef(pagesTranslationRef);
  const isSlow = useIsSlow(true);
  return (
    <div role="status" aria-label={label ?? t('loading')}>
      <VisuallyHidden>{label ?? t('loading')}</VisuallyHidden>
      {isSlow && <Text as="p">{t('slow.loading')}</Text>}
      <Skeleton width="100%" height={height} />
    </div>
  );
}
