import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button } from '@backstage/ui';
import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { useWords } from '../history/difference/useWords';
import { mockupTranslationRef } from '../translation';
import styles from './editor.module.css';
import { levelAttribute } from './canvas/dropTarget';
import type { Level } from './model/levels';

/** The containers that are open, and the way out of them: items are dropped here, too. */
export function Levels(props: {
  /** The outermost first. */
  containers: readonly LayoutItem[];
  onOpen: (level: Level) => void;
}) {
  const { containers, onOpen } = props;
  const { nameOfItem } = useWords();
  const { t } = useTranslationRef(mockupTranslationRef);
  if (containers.length === 0) {
    return null;
  }
  return (
    <nav className={styles.levels} aria-label={t('editor.levels.label')}>
      <ol>
        <li {...levelAttribute(undefined)}>
          <Button
            size="small"
            variant="tertiary"
            onPress={() => onOpen(undefined)}
          >
            {t('editor.levels.page')}
          </Button>
        </li>
        {containers.map((container, at) => {
          const isOpen = at === containers.length - 1;
          return (
            <li
              key={container.i}
              aria-current={isOpen || undefined}
              {...(!isOpen && levelAttribute(container.i))}
            >
              {isOpen ? (
                nameOfItem(container)
              ) : (
                <Button
                  size="small"
                  variant="tertiary"
                  onPress={() => onOpen(container.i)}
                >
                  {nameOfItem(container)}
                </Button>
              )}
            </li>
          );
        })}
      </ol>
    </nav>
  );
}
