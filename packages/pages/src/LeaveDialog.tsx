import { ActionDialog } from './ActionDialog';
import { useLeaveQuestion } from './useLeaveQuestion';

/** Asks before the page is left while something is not saved. */
export function LeaveDialog(props: {
  isChanged: boolean;
  title: string;
  texts: readonly string[];
  leave: string;
  stay: string;
  /** Whether what is not saved is lost. */
  destructive: boolean;
}) {
  const { isChanged, title, texts, leave, stay, destructive } = props;
  const question = useLeaveQuestion(isChanged);
  return question ? (
    <ActionDialog
      title={title}
      texts={texts}
      submit={leave}
      cancel={stay}
      destructive={destructive}
      failed=""
      onClose={question.stay}
      onSubmit={async () => {}}
      onDone={question.leave}
    />
  ) : null;
}
