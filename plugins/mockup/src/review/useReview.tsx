import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { usePermission } from '@backstage/plugin-permission-react';
import { Badge, Button, Text } from '@backstage/ui';
import { ifThere, ReadFailure, useRead, useTask } from '@internal/pages';
import {
  mockupReviewPermission,
  type Version,
} from 'backstage-plugin-mockup-common';
import type { ReactNode } from 'react';
import { mockupApiRef } from '../api';
import { Person } from '../components/Person';
import { useVersionTitle } from '../history/useVersionTitle';
import { mockupTranslationRef } from '../translation';

/** Says which versions of a mockup are ready, and lets reviewers mark them. */
export function useReview(mockupId: string, onSaid: (text: string) => void) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const titleOf = useVersionTitle();
  const { allowed } = usePermission({
    permission: mockupReviewPermission,
    resourceRef: mockupId,
  });
  const read = useRead(async () => api.getReview(mockupId), [api, mockupId]);
  const { isPendingOf, notes, run } = useTask();

  const mark = async (version: Version, isReady: boolean) => {
    const title = titleOf(version);
    const work = async () => {
      if (isReady) {
        await api.markReady(mockupId, version.id);
      } else {
        await ifThere(api.unmarkReady(mockupId, version.id));
      }
      onSaid(t(`review.ready.${isReady ? 'marked' : 'unmarked'}`, { title }));
    };
    await run(t('review.failedTo.ready'), work, version.id);
    read.retry();
  };

  /** Whether a version is ready, and what changes that. The backend refuses its author. */
  const actionOf = (version: Version): ReactNode => {
    const title = titleOf(version);
    const ready = read.value?.ready.find(
      ({ versionId }) => versionId === version.id,
    );
    return (
      <>
        {ready && (
          <Text variant="body-small" color="secondary">
            <Badge size="small">{t('review.ready.badge')}</Badge>{' '}
            {t('review.ready.by')} <Person entityRef={ready.readyBy} />
          </Text>
        )}
        {allowed && read.value && (
          <Button
            size="small"
            variant="secondary"
            isPending={isPendingOf(version.id)}
            aria-label={t(
              ready ? 'review.ready.unmarkOf' : 'review.ready.markOf',
              { title },
            )}
            onPress={() => mark(version, !ready)}
          >
            {t(ready ? 'review.ready.unmark' : 'review.ready.mark')}
          </Button>
        )}
      </>
    );
  };

  return {
    actionOf,
    /** What the tenant demands, and what has failed. */
    notice: (
      <>
        {read.value?.isRequired && (
          <Text as="p" color="secondary">
            {t('review.ready.required')}
          </Text>
        )}
        <ReadFailure title={t('review.ready.failed')} state={read} />
        {notes}
      </>
    ),
  };
}
