import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Text } from '@backstage/ui';
import { MoreButton } from '@internal/pages';
import type { ItemDifference } from 'backstage-plugin-mockup-common';
import {
  type KeyboardEvent,
  memo,
  useCallback,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { mockupTranslationRef } from '../../translation';
import { changedFields, type Field, kindsOf } from './changes';
import styles from './difference.module.css';
import { Icons } from './Mark';
import { useWords } from './useWords';

// As many as are drawn at once.
const PAGE_SIZE = 100;

// A step of the walk changes two of them.
const Entry = memo(EntryOf);

/** What differs, in words. The arrow keys walk; Tab leaves the list at once. */
export function DifferenceList(props: {
  differences: ItemDifference[];
  current: number | undefined;
  onGoTo: (index: number) => void;
}) {
  const { differences, current, onGoTo } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const id = useId();
  const list = useRef<HTMLOListElement>(null);
  const focusNext = useRef(false);
  const [limit, setLimit] = useState(PAGE_SIZE);
  const shown = Math.max(limit, (current ?? 0) + 1);

  useEffect(() => {
    if (focusNext.current) {
      focusNext.current = false;
      list.current?.querySelector<HTMLElement>('[data-stop="true"]')?.focus();
    }
  }, [current]);

  const last = differences.length - 1;
  const onKeyDown = useCallback(
    (event: KeyboardEvent, index: number) => {
      const target = {
        ArrowDown: Math.min(index + 1, last),
        ArrowUp: Math.max(index - 1, 0),
        Home: 0,
        End: last,
      }[event.key];
      if (target !== undefined) {
        event.preventDefault();
        focusNext.current = target !== index;
        onGoTo(target);
      }
    },
    [last, onGoTo],
  );

  return (
    <section aria-labelledby={id}>
      <h3 id={id} className={styles.title}>
        {t('history.difference.list')}
      </h3>
      <Text as="p" color="secondary" className={styles.hint}>
        {t('history.difference.hint')}
      </Text>
      <ol ref={list} className={styles.list}>
        {differences.slice(0, shown).map((difference, index) => (
          <Entry
            key={difference.i}
            index={index}
            difference={difference}
            isCurrent={index === current}
            isStop={index === (current ?? 0)}
            onGoTo={onGoTo}
            onKeyDown={onKeyDown}
          />
        ))}
      </ol>
      <MoreButton
        label={t('history.difference.more', {
          count: Math.min(PAGE_SIZE, differences.length - shown),
        })}
        isPending={false}
        onMore={
          shown < differences.length
            ? () => setLimit(shown + PAGE_SIZE)
            : undefined
        }
      />
    </section>
  );
}

interface EntryProps {
  index: number;
  difference: ItemDifference;
  isCurrent: boolean;
  /** Whether Tab stops here. */
  isStop: boolean;
  onGoTo: (index: number) => void;
  onKeyDown: (event: KeyboardEvent, index: number) => void;
}

function EntryOf(props: EntryProps) {
  const { index, difference, isCurrent, isStop, onGoTo, onKeyDown } = props;
  const { nameOf, sentencesOf } = useWords();
  return (
    <li className={styles.entry} data-change={difference.change}>
      <button
        type="button"
        className={styles.entryButton}
        tabIndex={isStop ? 0 : -1}
        data-stop={isStop}
        aria-current={isCurrent || undefined}
        onClick={() => onGoTo(index)}
        onKeyDown={event => onKeyDown(event, index)}
      >
        <span className={styles.chip} aria-hidden>
          {index + 1}
          <Icons kinds={kindsOf(difference)} />
        </span>
        <span>
          <b>{nameOf(difference)}</b> {sentencesOf(difference).join(' ')}
        </span>
      </button>
      <Fields fields={changedFields(difference)} />
    </li>
  );
}

/** The properties that differ. */
function Fields({ fields }: { fields: Field[] }) {
  const { t } = useTranslationRef(mockupTranslationRef);
  if (fields.length === 0) {
    return null;
  }
  return (
    <dl className={styles.fields}>
      {fields.map(({ name, before, after }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {before !== undefined && <del>{before}</del>}
            {after !== undefined && <ins>{after}</ins>}
            {(before ?? after) === '' && t('history.difference.emptyText')}
          </dd>
        </div>
      ))}
    </dl>
  );
}
