import {
  Alert,
  Button,
  Dialog,
  DialogBody,
  DialogFooter,
  DialogHeader,
  Flex,
  Text,
} from '@backstage/ui';
import { useState } from 'react';
import styles from './administration.module.css';
import { messageOf } from './failures';

/**
 * Asks before something is done that is not undone as easily. A failure keeps it open and says
 * what happened.
 */
export function ConfirmDialog(props: {
  title: string;
  /** What it means, a paragraph each. */
  meaning: readonly string[];
  /** What makes it worse, if anything. */
  warning?: string;
  confirm: string;
  cancel: string;
  failed: string;
  /** Does it, and closes the dialog. */
  onConfirm: () => Promise<void>;
  onCancel: () => void;
}) {
  const { title, meaning, warning, confirm, cancel, failed } = props;
  const { onConfirm, onCancel } = props;
  const [isPending, setIsPending] = useState(false);
  const [error, setError] = useState<unknown>();

  const act = async () => {
    setIsPending(true);
    setError(undefined);
    try {
      await onConfirm();
    } catch (failure) {
      setError(failure);
      setIsPending(false);
    }
  };

  return (
    <Dialog
      isOpen
      width="min(480px, calc(100vw - 32px))"
      onOpenChange={isOpen => {
        if (!isOpen && !isPending) {
          onCancel();
        }
      }}
    >
      <DialogHeader>{title}</DialogHeader>
      <DialogBody>
        <Flex direction="column" gap="4">
          {meaning.map(text => (
            <Text as="p" key={text}>
              {text}
            </Text>
          ))}
          {warning && <Alert status="warning" icon description={warning} />}
          {error !== undefined && (
            <Alert
              role="alert"
              status="danger"
              icon
              title={failed}
              description={messageOf(error)}
            />
          )}
        </Flex>
      </DialogBody>
      <DialogFooter>
        <Button variant="secondary" onPress={onCancel} isDisabled={isPending}>
          {cancel}
        </Button>
        <Button
          className={styles.danger}
          destructive
          onPress={act}
          isPending={isPending}
        >
          {confirm}
        </Button>
      </DialogFooter>
    </Dialog>
  );
}
