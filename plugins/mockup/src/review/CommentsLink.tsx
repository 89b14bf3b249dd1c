import { useRouteRef, useTranslationRef } from '@backstage/frontend-plugin-api';
import { ButtonLink } from '@backstage/ui';
import { commentsRouteRef } from '../routes';
import { mockupTranslationRef } from '../translation';

/** Leads from the editor to what people say of the mockup. */
export function CommentsLink({ mockupId }: { mockupId: string }) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const href = useRouteRef(commentsRouteRef)?.({ id: mockupId });
  return href === undefined ? null : (
    <ButtonLink variant="secondary" href={href}>
      {t('review.open')}
    </ButtonLink>
  );
}
