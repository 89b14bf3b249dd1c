import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { usePermission } from '@backstage/plugin-permission-react';
import { Checkbox, Text } from '@backstage/ui';
import { Failure } from '@internal/pages';
import { mockupReviewRequirePermission } from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import useAsyncRetry from 'react-use/esm/useAsyncRetry';
import { mockupApiRef } from '../api';
import { mockupTranslationRef } from '../translation';

/** Whether versions have to be ready before they are published, for those who decide that. */
export function ReviewSetting() {
  const { t } = useTranslationRef(mockupTranslationRef);
  const api = useApi(mockupApiRef);
  const { allowed } = usePermission({
    permission: mockupReviewRequirePermission,
  });
  const { value: settings, retry } = useAsyncRetry(
    async () => (allowed ? api.getSettings() : undefined),
    [api, allowed],
  );
  const [error, setError] = useState<unknown>();
  const [said, setSaid] = useState('');
  if (!allowed || !settings) {
    return null;
  }
  const decide = async (reviewRequired: boolean) => {
    setError(undefined);
    try {
      await api.updateSettings({ reviewRequired });
      setSaid(t(reviewRequired ? 'review.require.on' : 'review.require.off'));
    } catch (thrown) {
      setError(thrown);
    }
    retry();
  };
  return (
    <>
      <Checkbox isSelected={settings.reviewRequired} onChange={decide}>
        {t('review.require.label')}
      </Checkbox>
      <div role="status">{said && <Text as="p">{said}</Text>}</div>
      {error !== undefined && (
        <Failure title={t('review.failedTo.settings')} error={error} />
      )}
    </>
  );
}
