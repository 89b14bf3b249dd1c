import { useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  RiAddLine,
  RiDragMove2Line,
  RiExpandDiagonalLine,
  RiListSettingsLine,
  RiSettings3Line,
  RiShapesLine,
  RiSubtractLine,
} from '@remixicon/react';
import type { ItemDifference } from 'backstage-plugin-mockup-common';
import { memo } from 'react';
import { mockupTranslationRef } from '../../translation';
import { type Kind, kindsOf } from './changes';
import styles from './difference.module.css';
import { useWords } from './useWords';

const ICONS = {
  added: RiAddLine,
  removed: RiSubtractLine,
  moved: RiDragMove2Line,
  resized: RiExpandDiagonalLine,
  component: RiShapesLine,
  props: RiListSettingsLine,
  other: RiSettings3Line,
};

/** What has happened to an item, over its drawing: by a pattern, icons and words. */
export const Mark = memo(
  (props: {
    index: number;
    difference: ItemDifference;
    onChoose: (index: number) => void;
  }) => {
    const { index, difference, onChoose } = props;
    const { t } = useTranslationRef(mockupTranslationRef);
    const { nameOf, sentencesOf } = useWords();
    const kinds = kindsOf(difference);
    return (
      <button
        type="button"
        // The walk leads here by the keyboard: a thousand stops of Tab would not.
        tabIndex={-1}
        data-difference={index}
        data-change={difference.change}
        className={styles.mark}
        aria-label={t('history.difference.mark', {
          position: String(index + 1),
          name: nameOf(difference),
          what: sentencesOf(difference).join(' '),
        })}
        onClick={() => onChoose(index)}
      >
        <span className={styles.chip} aria-hidden>
          {index + 1}
          <Icons kinds={kinds} />
          <span>
            {kinds.map(kind => t(`history.difference.kind.${kind}`)).join(', ')}
          </span>
        </span>
      </button>
    );
  },
);
Mark.displayName = 'Mark';

/** What has happened to an item, by icons alone. */
export function Icons({ kinds }: { kinds: Kind[] }) {
  return (
    <>
      {kinds.map(kind => {
        const Icon = ICONS[kind];
        return <Icon key={kind} size={14} aria-hidden />;
      })}
    </>
  );
}
