import { useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Button,
  Dialog,
  DialogBody,
  DialogFooter,
  DialogHeader,
  Flex,
  Text,
} from '@backstage/ui';
import { Alert, Moment } from '@internal/pages';
import { mockupTranslationRef } from '../../translation';
import styles from '../editor.module.css';
import type { Saved } from '../model/content';
import { Differences } from './Differences';
import type { Draft } from './drafts';

/** A draft with what it was made from. */
export type OpenedDraft = Omit<Draft, 'base'> & { base: Saved };

/** Offers what was not saved at the last visit. There is no way around an answer. */
export function DraftDialog(props: {
  draft: OpenedDraft;
  saved: Saved;
  onUse: () => void;
  onDiscard: () => void;
  /** Shows another one; nothing where there is none. */
  onOther?: () => void;
}) {
  const { draft, saved, onUse, onDiscard, onOther } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <Dialog
      isOpen
      isDismissable={false}
      isKeyboardDismissDisabled
      className={styles.question}
      width="min(560px, calc(100vw - 32px))"
    >
      <DialogHeader>{t('editor.draft.title')}</DialogHeader>
      <DialogBody>
        <Flex direction="column" gap="3">
          <Text as="p">
            {t('editor.draft.kept')} <Moment at={draft.at} />
          </Text>
          <Text as="p">{t('editor.draft.text')}</Text>
          <Differences before={saved.content} after={draft.content} />
          {draft.etag !== saved.etag && (
            <Alert
              status="warning"
              icon
              description={t('editor.draft.outdated')}
            />
          )}
        </Flex>
      </DialogBody>
      <DialogFooter className={styles.footer}>
        {onOther && (
          <Button variant="tertiary" onPress={onOther}>
            {t('editor.draft.other')}
          </Button>
        )}
        <Button variant="secondary" onPress={onDiscard}>
          {t('editor.draft.discard')}
        </Button>
        <Button onPress={onUse}>{t('editor.draft.use')}</Button>
      </DialogFooter>
    </Dialog>
  );
}
