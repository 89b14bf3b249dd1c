import { ResponseError, toError } from '@backstage/errors';
import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, ButtonLink, Flex } from '@backstage/ui';
import { type ReactNode, useEffect } from 'react';
import { Alert } from './Alert';
import { pagesTranslationRef } from './translation';
import { useFocusPassedOn } from './useFocusPassedOn';

/** What the backend says of a failure, without what the client puts around it. */
export function messageOf(error: unknown): string {
  return error instanceof ResponseError
    ? error.cause.message
    : toError(error).message;
}

/** The status of a failed request; nothing where there was no answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof ResponseError ? error.statusCode : undefined;
}

/** What a failed request means, for people. */
export function useFailureText(): (error: unknown) => string {
  const { t } = useTranslationRef(pagesTranslationRef);
  return error => {
    const status = statusOf(error);
    // What fetch rejects with when there is no answer.
    if (status === undefined && error instanceof TypeError) {
      return t('failure.unreachable');
    }
    if (status === 401) {
      return t('failure.sessionEnded');
    }
    const message = messageOf(error);
    // Of something in between, such as a proxy: the backend says it in other words.
    if (/^Request failed with status 50[234]/.test(message)) {
      return t('failure.unreachable');
    }
    return status === 403 ? t('failure.refused', { message }) : message;
  };
}

/** Says that something has failed, and offers to try it again. */
export function Failure(props: {
  title: string;
  error: unknown;
  /** What it means here, where that is known. */
  text?: string;
  /** What else to do about it. */
  action?: ReactNode;
  onRetry?: () => void;
  /** Whether it is tried again at the moment. The button for that keeps the focus meanwhile. */
  isRetrying?: boolean;
  /** Whether it is what the user has just done that failed: then it comes into sight. */
  isOfAction?: boolean;
}) {
  const { title, error, text, action, onRetry } = props;
  const { isRetrying = false, isOfAction } = props;
  const { t } = useTranslationRef(pagesTranslationRef);
  const textOf = useFailureText();
  // The button that tries again goes with it.
  const alert = useFocusPassedOn<HTMLDivElement>();
  useEffect(() => {
    if (isOfAction) {
      // Not every browser can.
      alert.current?.scrollIntoView?.({ block: 'nearest' });
    }
  }, [isOfAction, error, alert]);
  return (
    <Alert
      ref={alert}
      role="alert"
      status="danger"
      icon
      title={title}
      // Another text has it read out again where it fails again.
      description={isRetrying ? t('retrying') : text ?? textOf(error)}
      customActions={
        <Flex gap="2" style={{ flexWrap: 'wrap' }}>
          {statusOf(error) === 401 && (
            <ButtonLink
              size="small"
              variant="secondary"
              href="/"
              target="_blank"
            >
              {t('failure.signIn')}
            </ButtonLink>
          )}
          {action}
          {onRetry && (
            <Button
              size="small"
              variant="secondary"
              isPending={isRetrying}
              onPress={onRetry}
            >
              {t('retry')}
            </Button>
          )}
        </Flex>
      }
    />
  );
}

/** Says that something could not be read, until it is. */
export function ReadFailure(props: {
  title: string;
  state: { error?: unknown; loading: boolean; retry: () => void };
}) {
  const { title, state } = props;
  return state.error === undefined ? null : (
    <Failure
      title={title}
      error={state.error}
      onRetry={state.retry}
      isRetrying={state.loading}
    />
  );
}
