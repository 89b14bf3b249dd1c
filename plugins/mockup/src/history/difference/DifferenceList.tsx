import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { MoreButton } from '@internal/pages';
import type { ItemDifference } from 'backstage-plugin-mockup-common';
import { memo, useId, useState } from 'react';
import { mockupTranslationRef } from '../../translation';
import { changedFields, type Field, kindsOf } from './changes';
import styles from './difference.module.css';
import { Icons } from './Mark';
import { useWords } from './useWords';

// As many as are drawn at once.
const PAGE_SIZE = 100;

// A step of the walk changes two of them.
const Entry = memo(EntryOf);

/** What differs, in words. */
export function DifferenceList(props: {
  differences: ItemDifference[];
  current: number | undefined;
  onGoTo: (index: number) => void;
}) {
  const { differences, current, onGoTo } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const id = useId();
  const [limit, setLimit] = useState(PAGE_SIZE);
  const shown = Math.max(limit, (current ?? 0) + 1);

  return (
    <section aria-labelledby={id}>
      <h3 id={id} className={styles.title}>
        {t('history.difference.list')}
      </h3>
      <ol className={styles.list}>
        {differences.slice(0, shown).map((difference, index) => (
          <Entry
            key={difference.i}
            index={index}
            difference={difference}
            isCurrent={index === current}
            onGoTo={onGoTo}
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

function EntryOf(props: {
  index: number;
  difference: ItemDifference;
  isCurrent: boolean;
  onGoTo: (index: number) => void;
}) {
  const { index, difference, isCurrent, onGoTo } = props;
  const { nameOf, sentencesOf } = useWords();
  return (
    <li className={styles.entry} data-change={difference.change}>
      <button
        type="button"
        className={styles.entryButton}
        // The buttons above walk by the keyboard: a hundred stops of Tab would not.
        tabIndex={-1}
        aria-current={isCurrent || undefined}
        onClick={() => onGoTo(index)}
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
