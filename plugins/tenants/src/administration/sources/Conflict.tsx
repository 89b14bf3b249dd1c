import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Alert, Button, Flex, Text } from '@backstage/ui';
import type { ReadCatalogConfig } from 'backstage-plugin-tenants-common';
import { diffLines } from 'diff';
import { tenantsTranslationRef } from '../../translation';
import { toText } from './configText';
import styles from './sources.module.css';

/** What somebody else has saved meanwhile, and what to do about it. */
export function Conflict(props: {
  /** What was read, and edited since. */
  base: ReadCatalogConfig;
  theirs: ReadCatalogConfig;
  isPending: boolean;
  onOverwrite: () => void;
  onTakeTheirs: () => void;
}) {
  const { base, theirs, isPending, onOverwrite, onTakeTheirs } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const changes = diffLines(toText(base), toText(theirs)).filter(
    ({ added, removed }) => added || removed,
  );
  return (
    <Alert
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
              destructive
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
