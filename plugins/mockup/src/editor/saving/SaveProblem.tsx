import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button } from '@backstage/ui';
import { Failure, statusOf } from '@internal/pages';
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
  const { error } = failure;
  const status = statusOf(error);
  return (
    <Failure
      title={t('editor.save.failed')}
      error={error}
      text={text()}
      action={
        <Button size="small" variant="secondary" onPress={onSaveCopy}>
          {t('editor.toolbar.saveCopy')}
        </Button>
      }
      onRetry={onRetry}
    />
  );

  function text() {
    if (error instanceof MockupGone || status === 404) {
      return t('editor.save.gone');
    }
    if (status === 403) {
      return t('editor.save.forbidden');
    }
    return status === 413 ? t('editor.save.tooLarge') : undefined;
  }
}
