import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Flex, Text } from '@backstage/ui';
import { Alert, DANGER, useFocusPassedOn } from '@internal/pages';
import type { ReadCatalogConfig } from 'backstage-plugin-tenants-common';
import { diffLines } from 'diff';
import { useEffect } from 'react';
import { tenantsTranslationRef } from '../../translation';
import { toText } from './configText';
import styles from './sources.module.css';

/** Shows what another user has saved meanwhile, and asks which of the two to keep. */
export function Conflict(props: {
  /** What was read, and edited since. */
  base: ReadCatalogConfig;
  theirs: ReadCatalogConfig;
  isPending: boolean;
  /** Whether what was typed can be saved at all. */
  canSave: boolean;
  onOverwrite: () => void;
  onTakeTheirs: () => void;
}) {
  const { base, theirs, isPending, canSave } = props;
  const { onOverwrite, onTakeTheirs } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const alert = useFocusPassedOn<HTMLDivElement>();
  useEffect(() => {
    // It may be below what is in sight. Not every browser can.
    alert.current?.scrollIntoView?.({ block: 'center' });
  }, [theirs, alert]);
  const changes = diffLines(toText(base), toText(theirs)).filter(
    ({ added, removed }) => added || removed,
  );
  return (
    <Alert
      ref={alert}
      role="alert"
      status="warning"
      icon
      title={t('sources.conflict.title', {
        by: theirs.updated_by ?? t('sources.conflict.somebody'),
      })}
      description={
        <Flex direction="column" gap="3">
          <Text as="p">
            {t(
              changes.length > 0
                ? 'sources.conflict.description'
                : 'sources.conflict.same',
            )}
          </Text>
          {changes.length > 0 && (
            // It scrolls, which takes the focus of a keyboard.
            // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            <pre className={styles.changes} tabIndex={0}>
              {changes.map(({ added, value }, index) => {
                const lines = value
                  .replace(/\n$/, '')
                  .split('\n')
                  .map(line => `${added ? '+' : '−'} ${line}\n`)
                  .join('');
                return added ? (
                  <ins key={index}>{lines}</ins>
                ) : (
                  <del key={index}>{lines}</del>
                );
              })}
            </pre>
          )}
          <Flex gap="2" className={styles.buttons}>
            <Button
              size="small"
              variant="secondary"
              onPress={onTakeTheirs}
              isDisabled={isPending}
            >
              {t('sources.conflict.takeTheirs')}
            </Button>
            <Button
              size="small"
              {...DANGER}
              isDisabled={!canSave}
              onPress={onOverwrite}
              isPending={isPending}
            >
              {t('sources.conflict.overwrite')}
            </Button>
          </Flex>
        </Flex>
      }
    />
  );
}
