import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Flex, Text } from '@backstage/ui';
import { RiCheckLine } from '@remixicon/react';
import { useIsSlow } from '@internal/pages';
import { mockupTranslationRef } from '../../translation';
import styles from '../editor.module.css';
import type { Saved } from '../model/content';

/** Whether the mockup is saved, and saving it. */
export function SaveState(props: {
  saved: Saved;
  isChanged: boolean;
  /** Whether the browser keeps what is not saved; nothing until that is known. */
  isDrafted: boolean | undefined;
  isPending: boolean;
  onSave: () => void;
}) {
  const { saved, isChanged, isDrafted, isPending, onSave } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const isNew = saved.versionId === undefined;
  const isSlow = useIsSlow(isPending);
  const status = () => {
    if (!isChanged) {
      return isNew ? 'never' : 'saved';
    }
    if (isDrafted === undefined) {
      return 'unsaved';
    }
    return isDrafted ? 'drafted' : 'undrafted';
  };
  return (
    <Flex gap="3" align="center">
      <Text color="secondary" className={styles.status}>
        {!isChanged && !isNew && <RiCheckLine size={16} aria-hidden />}
        {/* A region of its own: what is said after each step is not read out. */}
        <span role="status">{isSlow && t('editor.status.slow')}</span>
        {!isSlow && t(`editor.status.${status()}`)}
      </Text>
      {/* Never disabled: after saving it would lose the focus. */}
      <Button isPending={isPending} onPress={onSave}>
        {t('editor.toolbar.save')}
      </Button>
    </Flex>
  );
}
