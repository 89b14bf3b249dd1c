import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { ActionDialog } from '../../components/ActionDialog';
import { mockupTranslationRef } from '../../translation';
import { useLeaveQuestion } from './useLeaveQuestion';

/** Asks before the page is left while something is not saved. */
export function LeaveDialog(props: {
  isChanged: boolean;
  /** Nothing until it is known. */
  isDrafted: boolean | undefined;
}) {
  const { isChanged, isDrafted } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const question = useLeaveQuestion(isChanged);
  return question ? (
    <ActionDialog
      title={t('editor.leave.title')}
      texts={[
        t('editor.leave.text'),
        ...(isDrafted === undefined
          ? []
          : [t(isDrafted ? 'editor.leave.drafted' : 'editor.leave.undrafted')]),
      ]}
      submit={t('editor.leave.leave')}
      cancel={t('editor.leave.stay')}
      destructive={!isDrafted}
      failed=""
      onClose={question.stay}
      onSubmit={async () => {}}
      onDone={question.leave}
    />
  ) : null;
}
