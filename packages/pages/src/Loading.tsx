import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Skeleton, VisuallyHidden } from '@backstage/ui';
import { pagesTranslationRef } from './translation';

/** In the place of what is not there yet. */
export function Loading({ height }: { height: number }) {
  const { t } = useTranslationRef(pagesTranslationRef);
  return (
    <div role="status">
      <VisuallyHidden>{t('loading')}</VisuallyHidden>
      <Skeleton aria-hidden width="100%" height={height} />
    </div>
  );
}
