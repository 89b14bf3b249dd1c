import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Alert, Button } from '@backstage/ui';
import { tenantsTranslationRef } from '../translation';
import { messageOf, statusOf } from './failures';

/** What a failed request means, for people. */
export function useFailureText(): (error: Error) => string {
  const { t } = useTranslationRef(tenantsTranslationRef);
  return error => {
    const status = statusOf(error);
    // What fetch rejects with when there is no answer.
    if (status === undefined && error instanceof TypeError) {
      return t('administration.failure.unreachable');
    }
    const message = messageOf(error);
    return status === 403
      ? t('administration.failure.refused', { message })
      : message;
  };
}

/** Says that something has failed, and offers to try it again. */
export function Failure(props: {
  title: string;
  error: Error;
  onRetry?: () => void;
}) {
  const { title, error, onRetry } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const textOf = useFailureText();
  return (
    <Alert
      role="alert"
      status="danger"
      icon
      title={title}
      description={textOf(error)}
      customActions={
        onRetry && (
          <Button size="small" variant="tertiary" onPress={onRetry}>
            {t('administration.retry')}
          </Button>
        )
      }
    />
  );
}
