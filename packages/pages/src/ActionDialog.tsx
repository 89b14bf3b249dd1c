import { toError } from '@backstage/errors';
import {
  errorApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import {
  Button,
  ButtonIcon,
  Dialog,
  DialogBody,
  DialogFooter,
  DialogHeader,
  DialogTrigger,
  Flex,
  Text,
  TextField,
} from '@backstage/ui';
import {
  type FormEvent,
  type ReactElement,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { Alert } from './Alert';
import styles from './ActionDialog.module.css';
import { Failure, useFailureText } from './Failure';
import { newIdempotencyKey } from './idempotencyKey';
import { passFocusOn } from './keepFocus';
import main from './Main.module.css';
import { pagesTranslationRef } from './translation';
import { useIsSlow } from './useIsSlow';
import { useLeaveQuestion } from './useLeaveQuestion';

/** What is done after the user was asked. */
export interface Action {
  title: string;
  /** What will happen, a paragraph each. */
  texts: readonly string[];
  /** What makes it worse, if anything. */
  warning?: string;
  /** What has to be typed before it can be done. */
  typed?: { label: string; value: string };
  submit: string;
  /** What the other button says; `Cancel` where it is not given. */
  cancel?: string;
  destructive?: boolean;
  /** Whether it can't be done, or not yet. */
  isDisabled?: boolean;
  /** What to say when it fails. The dialog stays open. */
  failed: string;
  /** Fields to fill in. */
  children?: ReactNode;
  /**
   * Returns false where a field has to be corrected first. The `Idempotency-Key` is the same until
   * the dialog is closed.
   */
  onSubmit: (idempotencyKey: string) => Promise<boolean | void>;
  /**
   * Leads the user on, after it was done and the dialog is closed. It is left out where the user has
   * closed the dialog before: what follows from what was done belongs to `onSubmit`.
   */
  onDone?: () => void;
}

/** For a button that destroys something. */
export const DANGER = { className: styles.danger, destructive: true };

// A click beside it must not lose what was typed.
const DIALOG = {
  isDismissable: false,
  width: 'min(520px, calc(100vw - 32px))',
  style: { minWidth: 0 },
} as const;

/**
 * A button, and the dialog that asks before it does what the button says. Where that takes the
 * button away, what is around it gets the focus.
 */
export function ActionButton({
  open,
  icon,
  onOpen,
  ...action
}: Action & {
  open: string;
  /** In place of the words, which screen readers say then. */
  icon?: ReactElement;
  onOpen?: () => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  // What is done may take the button away.
  useLayoutEffect(() => {
    const { current } = button;
    return () => {
      if (current) {
        passFocusOn(current, wasOpen.current);
      }
    };
  }, []);
  return (
    <DialogTrigger
      isOpen={isOpen}
      onOpenChange={opened => {
        setOpen(opened);
        if (opened) {
          wasOpen.current = true;
          onOpen?.();
        }
      }}
    >
      {icon ? (
        <ButtonIcon
          ref={button}
          variant="tertiary"
          icon={icon}
          aria-label={open}
        />
      ) : (
        <Button
          ref={button}
          variant="secondary"
          className={action.destructive ? styles.dangerOutline : undefined}
        >
          {open}
        </Button>
      )}
      <Dialog {...DIALOG}>
        <ActionForm {...action} onClose={() => setOpen(false)} />
      </Dialog>
    </DialogTrigger>
  );
}

/** Asks before something is done, and is open for as long as it is there. A failure keeps it open. */
export function ActionDialog(props: Action & { onClose: () => void }) {
  const { onClose } = props;
  return (
    <Dialog
      {...DIALOG}
      isOpen
      onOpenChange={isOpen => {
        if (!isOpen) {
          onClose();
        }
      }}
    >
      <ActionForm {...props} />
    </Dialog>
  );
}

function ActionForm(props: Action & { onClose: () => void }) {
  const { title, texts, warning, typed, failed, children } = props;
  const { submit, cancel, destructive, onSubmit, onDone, onClose } = props;
  const { t } = useTranslationRef(pagesTranslationRef);
  const form = useRef<HTMLFormElement>(null);
  const [text, setText] = useState('');
  const [error, setError] = useState<Error>();
  const [isPending, setPending] = useState(false);
  const [idempotencyKey] = useState(newIdempotencyKey);
  const isSlow = useIsSlow(isPending);
  const errorApi = useApi(errorApiRef);
  const textOf = useFailureText();
  const isOpen = useRef(false);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
    };
  }, []);
  const [isChanged, setChanged] = useState(false);
  const isDisabled = props.isDisabled || (typed && text !== typed.value);

  const [corrections, setCorrections] = useState(0);
  // Once the field says what is wrong with it.
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [corrections]);

  // The dialog itself has the focus where it has no field.
  useEffect(() => {
    const field = form.current?.querySelector('input');
    field?.focus();
    field?.select();
  }, []);

  async function onFormSubmit(event: FormEvent) {
    event.preventDefault();
    if (isPending || isDisabled) {
      return;
    }
    setPending(true);
    setError(undefined);
    try {
      const isDone = await onSubmit(idempotencyKey);
      if (isDone === false) {
        setPending(false);
        setCorrections(count => count + 1);
        return;
      }
    } catch (thrown) {
      setError(toError(thrown));
      setPending(false);
      if (!isOpen.current) {
        errorApi.post(new Error(`${failed}: ${textOf(thrown)}`));
      }
      return;
    }
    // What is open now may be another dialog.
    if (isOpen.current) {
      onClose();
      onDone?.();
    }
  }

  return (
    <>
      <form
        ref={form}
        className={`${main.main} ${styles.form}`}
        onInput={() => setChanged(true)}
        onSubmit={onFormSubmit}
        noValidate
      >
        <DialogHeader>{title}</DialogHeader>
        <DialogBody>
          <Flex direction="column" gap="4">
            {texts.map(each => (
              <Text as="p" key={each} style={{ margin: 0 }}>
                {each}
              </Text>
            ))}
            {warning && <Alert status="warning" icon description={warning} />}
            {children}
            {typed && (
              <TextField
                label={typed.label}
                value={text}
                onChange={setText}
                autoComplete="off"
              />
            )}
            {error && <Failure title={failed} error={error} isOfAction />}
            <div role="status">
              {isSlow && <Text as="p">{t('slow.doing')}</Text>}
            </div>
          </Flex>
        </DialogBody>
        <DialogFooter>
          <Button
            variant="secondary"
            slot="close"
            isDisabled={isPending && !isSlow}
          >
            {cancel ?? t('cancel')}
          </Button>
          <Button
            type="submit"
            {...(destructive && DANGER)}
            isPending={isPending}
            isDisabled={isDisabled}
          >
            {submit}
          </Button>
        </DialogFooter>
      </form>
      <LeaveDialog isChanged={isChanged} />
    </>
  );
}

/** Asks before the page is left while something is not saved. */
export function LeaveDialog(props: {
  isChanged: boolean;
  /** What becomes of it; it is lost where nothing is said. */
  texts?: readonly string[];
  destructive?: boolean;
}) {
  const { isChanged, texts, destructive = true } = props;
  const { t } = useTranslationRef(pagesTranslationRef);
  const question = useLeaveQuestion(isChanged);
  return question ? (
    <ActionDialog
      title={t('leave.title')}
      texts={texts ?? [t('leave.text')]}
      submit={t('leave.leave')}
      cancel={t('leave.stay')}
      destructive={destructive}
      failed=""
      onClose={question.stay}
      onSubmit={async () => {}}
      onDone={question.leave}
    />
  ) : null;
}
