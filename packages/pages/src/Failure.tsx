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

/** What a client says of an answer that has no words in the form of Backstage. */
const WITHOUT_WORDS = /^Request failed with status/;

/**
 * Whether something in between has answered, such as a proxy: not in the form of Backstage. Who
 * says 401 or 403 makes no difference, and the gate says so without that form.
 */
function isForeign(error: unknown): boolean {
  return (
    toError(error).name === 'SyntaxError' ||
    (error instanceof ResponseError &&
      ![401, 403].includes(error.statusCode) &&
      WITHOUT_WORDS.test(error.cause.message))
  );
}

/** The status with which the backend refused a request; nothing where it did not answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof ResponseError && !isForeign(error)
    ? error.statusCode
    : undefined;
}

/** After how many seconds the backend, or a proxy, takes another request, where it says so. */
function retryAfterOf(error: unknown): number {
  return error instanceof ResponseError
    ? Number(error.response.headers.get('Retry-After'))
    : 0;
}

/**
 * What a failed request means, for people, and when to try it again where the answer says so.
 *
 * @param isOfAction - whether it was to change something, which may be done without an answer
 */
export function useFailureText(isOfAction = false): (error: unknown) => string {
  const { t } = useTranslationRef(pagesTranslationRef);
  const meaningOf = useMeaning(isOfAction);
  return error => {
    const meaning = meaningOf(error);
    const count = retryAfterOf(error);
    return count > 0 ? t('failure.later', { meaning, count }) : meaning;
  };
}

function useMeaning(isOfAction: boolean): (error: unknown) => string {
  const { t } = useTranslationRef(pagesTranslationRef);
  const unreachable = t(
    isOfAction ? 'failure.unanswered' : 'failure.unreachable',
  );
  return error => {
    const status =
      error instanceof ResponseError ? error.statusCode : undefined;
    // What fetch rejects with when there is no answer.
    if (status === undefined && error instanceof TypeError) {
      return unreachable;
    }
    if (status === 401) {
      return t('failure.sessionEnded');
    }
    if (status === 413) {
      return t('failure.tooLarge');
    }
    if (isForeign(error)) {
      return status !== undefined && status > 501
        ? unreachable
        : t('failure.foreign', { status: String(status ?? 200) });
    }
    const message = messageOf(error);
    return status === 403
      ? t('failure.refused', {
          message: WITHOUT_WORDS.test(message) ? '' : message,
        })
      : message;
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
  const textOf = useFailureText(isOfAction);
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
          {statusOf(error) === 401 && text === undefined && (
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
