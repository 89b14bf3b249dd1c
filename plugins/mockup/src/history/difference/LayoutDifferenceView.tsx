import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Flex, Text, VisuallyHidden } from '@backstage/ui';
import { Alert } from '@internal/pages';
import {
  compareLayouts,
  type ItemDifference,
  type LayoutItem,
} from 'backstage-plugin-mockup-common';
import {
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import { LayoutView } from '../../components/LayoutView';
import { mockupTranslationRef } from '../../translation';
import { inReadingOrder } from './changes';
import styles from './difference.module.css';
import { DifferenceList } from './DifferenceList';
import { Mark } from './Mark';
import { useWords } from './useWords';

/**
 * Two layouts side by side, with what differs: marked in both drawings, and in words. Buttons walk
 * from difference to difference.
 */
export function LayoutDifferenceView(props: {
  before: LayoutItem[];
  after: LayoutItem[];
  /** What the drawings are called, such as the tags of two versions. */
  beforeTitle: ReactNode;
  afterTitle: ReactNode;
  /** More about each, below its title. */
  beforeNote?: ReactNode;
  afterNote?: ReactNode;
}) {
  const { before, after, beforeTitle, afterTitle } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const words = useWords();
  const differences = useMemo(
    () => inReadingOrder(compareLayouts(before, after).items),
    [before, after],
  );
  const [current, setCurrent] = useState<number>();
  useEffect(() => setCurrent(undefined), [differences]);

  const panes = useRef<HTMLDivElement>(null);
  // Without drawing a thousand items again for each step of the walk.
  useEffect(() => {
    const marks = [
      ...(panes.current?.querySelectorAll(`[data-difference="${current}"]`) ??
        []),
    ];
    for (const mark of marks) {
      mark.setAttribute('data-current', 'true');
      mark.scrollIntoView?.({ block: 'nearest' });
    }
    return () => marks.forEach(mark => mark.removeAttribute('data-current'));
  }, [current]);
  const count = differences.length;
  const walk = (step: 1 | -1) => {
    const from = current ?? (step === 1 ? -1 : count);
    setCurrent((from + step + count) % count);
  };
  const walked = current === undefined ? undefined : differences[current];

  return (
    <Flex direction="column" gap="4">
      <div className={styles.bar}>
        <Text as="p" weight="bold" className={styles.count}>
          {walked
            ? t('history.difference.position', {
                position: String(current! + 1),
                total: String(count),
              })
            : t('history.difference.count', { count })}
        </Text>
        {count > 0 && (
          <>
            <Button size="small" variant="secondary" onPress={() => walk(-1)}>
              {t('history.difference.previous')}
            </Button>
            <Button size="small" variant="secondary" onPress={() => walk(1)}>
              {t('history.difference.next')}
            </Button>
          </>
        )}
        <VisuallyHidden role="status">
          {walked &&
            t('history.difference.announcement', {
              position: String(current! + 1),
              total: String(count),
              name: words.nameOf(walked),
              what: words.sentencesOf(walked).join(' '),
            })}
        </VisuallyHidden>
      </div>
      {count === 0 && (
        <Alert status="info" icon title={t('history.difference.none')} />
      )}
      <div
        ref={panes}
        className={styles.panes}
        // It scrolls, which takes the focus of a keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        role="group"
        aria-label={t('history.difference.drawings')}
      >
        <Pane
          title={beforeTitle}
          note={props.beforeNote}
          items={before}
          differences={differences}
          onChoose={setCurrent}
        />
        <Pane
          title={afterTitle}
          note={props.afterNote}
          items={after}
          differences={differences}
          onChoose={setCurrent}
        />
      </div>
      {count > 0 && (
        <DifferenceList
          differences={differences}
          current={current}
          onGoTo={setCurrent}
        />
      )}
    </Flex>
  );
}

function Pane(props: {
  title: ReactNode;
  note?: ReactNode;
  items: LayoutItem[];
  differences: ItemDifference[];
  onChoose: (index: number) => void;
}) {
  const { title, note, items, differences, onChoose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const id = useId();
  const indexes = useMemo(
    () => new Map(differences.map(({ i }, index) => [i, index])),
    [differences],
  );
  const overlayOf = useCallback(
    ({ i }: LayoutItem) => {
      const index = indexes.get(i);
      return index === undefined ? null : (
        <Mark
          index={index}
          difference={differences[index]}
          onChoose={onChoose}
        />
      );
    },
    [indexes, differences, onChoose],
  );
  return (
    <section aria-labelledby={id} className={styles.pane}>
      <h3 id={id} className={styles.title}>
        {title}
      </h3>
      {note}
      <div className={styles.drawing} role="group" aria-labelledby={id}>
        {items.length > 0 ? (
          <LayoutView items={items} overlayOf={overlayOf} />
        ) : (
          <Text as="p" color="secondary" className={styles.empty}>
            {t('history.empty')}
          </Text>
        )}
      </div>
    </section>
  );
}
