import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Alert, Button, Flex } from '@backstage/ui';
import { pagesTranslationRef, statusOf, useFailureText } from '@internal/pages';
import { mockupTranslationRef } from '../../translation';
import { MockupGone, type SaveFailure } from './useSaving';

/** Says why something is not saved, and what to do now. */
export function SaveProblem(props: {
  failure: SaveFailure;
  onRetry: () => void;
  onSaveCopy: () => void;
}) {
  const { failure, onRetry, onSaveCopy } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const { t: tPages } = useTranslationRef(pagesTranslationRef);
  const textOf = useFailureText();
  const { error } = failure;
  const status = statusOf(error);
  return (
    <Alert
      role="alert"
      status="danger"
      icon
      title={t('editor.save.failed')}
      description={description()}
      customActions={
        <Flex gap="2">
          <Button size="small" variant="secondary" onPress={onSaveCopy}>
            {t('editor.toolbar.saveCopy')}
          </Button>
          <Button size="small" variant="secondary" onPress={onRetry}>
            {tPages('retry')}
          </Button>
        </Flex>
      }
    />
  );

  function description() {
    if (error instanceof MockupGone || status === 404) {
      return t('editor.save.gone');
    }
    if (status === 403) {
      return t('editor.save.forbidden');
    }
    return status === 413 ? t('editor.save.tooLarge') : textOf(error);
  }
}
