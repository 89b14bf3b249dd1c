import { toError } from '@backstage/errors';
import { useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Button,
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
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from 'react';
import { tenantsTranslationRef } from '../../translation';
import { Failure } from '../Failure';

interface ActionDialogProps {
  /** What the button says that opens it. */
  open: string;
  title: string;
  /** What will happen, a paragraph each. */
  texts: string[];
  /** What has to be typed before it can be done. */
  typed?: { label: string; value: string };
  submit: string;
  destructive?: boolean;
  /** What to say when it fails. */
  failed: string;
  /** Fields to fill in. */
  children?: ReactNode;
  /** Returns false where a field has to be corrected first. */
  onSubmit: () => Promise<boolean | void>;
  /** After it was done, and the dialog is closed. */
  onDone: () => void;
  onOpen?: () => void;
}

/** A button, and the dialog that asks before it does what the button says. */
export function ActionDialog(props: ActionDialogProps) {
  const { open, onOpen } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <DialogTrigger
      isOpen={isOpen}
      onOpenChange={opened => {
        setOpen(opened);
        if (opened) {
          onOpen?.();
        }
      }}
    >
      <Button variant="secondary">{open}</Button>
      <Dialog
        isDismissable={false}
        width="min(520px, calc(100vw - 32px))"
        style={{ minWidth: 0 }}
      >
        <ActionForm {...props} onClose={() => setOpen(false)} />
      </Dialog>
    </DialogTrigger>
  );
}

function ActionForm(props: ActionDialogProps & { onClose: () => void }) {
  const { title, texts, typed, submit, destructive, failed, children } = props;
  const { onSubmit, onDone, onClose } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const form = useRef<HTMLFormElement>(null);
  const [text, setText] = useState('');
  const [error, setError] = useState<Error>();
  const [isPending, setPending] = useState(false);

  // The dialog itself has the focus where it has no field.
  useEffect(() => form.current?.querySelector('input')?.focus(), []);

  async function onFormSubmit(event: FormEvent) {
    event.preventDefault();
    if (isPending || (typed && text !== typed.value)) {
      return;
    }
    setPending(true);
    setError(undefined);
    try {
      const isDone = await onSubmit();
      if (isDone === false) {
        setPending(false);
        return;
      }
    } catch (thrown) {
      setError(toError(thrown));
      setPending(false);
      return;
    }
    onClose();
    onDone();
  }

  return (
    <form ref={form} onSubmit={onFormSubmit} noValidate>
      <DialogHeader>{title}</DialogHeader>
      <DialogBody>
        <Flex direction="column" gap="4">
          {texts.map(each => (
            <Text as="p" key={each} style={{ margin: 0 }}>
              {each}
            </Text>
          ))}
          {children}
          {typed && (
            <TextField
              label={typed.label}
              value={text}
              onChange={setText}
              autoComplete="off"
            />
          )}
          {error && <Failure title={failed} error={error} />}
        </Flex>
      </DialogBody>
      <DialogFooter>
        <Button variant="secondary" slot="close" isDisabled={isPending}>
          {t('administration.cancel')}
        </Button>
        <Button
          type="submit"
          destructive={destructive}
          isPending={isPending}
          isDisabled={typed && text !== typed.value}
        >
          {submit}
        </Button>
      </DialogFooter>
    </form>
  );
}
