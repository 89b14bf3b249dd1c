import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { usePermission } from '@backstage/plugin-permission-react';
import { Checkbox, Text } from '@backstage/ui';
import { Loaded, useRead, useTask } from '@internal/pages';
import { mockupReviewRequirePermission } from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import { mockupApiRef } from '../api';
import { mockupTranslationRef } from '../translation';

/** Whether versions have to be ready before they are published, for those who decide that. */
export function ReviewSetting() {
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const { allowed } = usePermission({
    permission: mockupReviewRequirePermission,
  });
  const read = useRead(
    async () => (allowed ? api.getSettings() : undefined),
    [api, allowed],
  );
  const { isPending, notes, run } = useTask();
  const [said, setSaid] = useState('');
  if (!allowed) {
    return null;
  }
  const decide = async (reviewRequired: boolean) => {
    if (isPending) {
      return;
    }
    await run(t('review.failedTo.settings'), async () => {
      await api.updateSettings({ reviewRequired });
      setSaid(t(reviewRequired ? 'review.require.on' : 'review.require.off'));
    });
    read.retry();
  };
  return (
    <>
      <Loaded state={read} failed={t('review.require.failed')} height={20}>
        {({ reviewRequired }) => (
          <Checkbox isSelected={reviewRequired} onChange={decide}>
            {t('review.require.label')}
          </Checkbox>
        )}
      </Loaded>
      <div role="status">{said && <Text as="p">{said}</Text>}</div>
      {notes}
    </>
  );
}
