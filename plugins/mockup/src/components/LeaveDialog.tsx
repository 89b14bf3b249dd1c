import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { LeaveDialog as SharedDialog } from '@internal/pages';
import { mockupTranslationRef } from '../translation';

/** Asks before the page is left while something is not saved. */
export function LeaveDialog(props: {
  isChanged: boolean;
  /** Nothing until it is known. */
  isDrafted: boolean | undefined;
}) {
  const { isChanged, isDrafted } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <SharedDialog
      isChanged={isChanged}
      texts={[
        t('editor.leave.text'),
        ...(isDrafted === undefined
          ? []
          : [t(isDrafted ? 'editor.leave.drafted' : 'editor.leave.undrafted')]),
      ]}
      destructive={!isDrafted}
    />
  );
}
