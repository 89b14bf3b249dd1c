import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Select } from '@backstage/ui';
import { LeaveDialog } from '@internal/pages';
import { type LayoutItem, MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { useMemo, useState } from 'react';
import { isWithin, LimitedField } from '../components/LimitedField';
import { useWords } from '../history/difference/useWords';
import { mockupTranslationRef } from '../translation';
import styles from './review.module.css';

// No item is called so: it is longer than an item that can be commented on.
const WHOLE = '-'.repeat(MOCKUP_LIMITS.commentItem + 1);

/** Whether a comment can name an item. The API takes items of other names, too. */
export function isCommentable({ i }: LayoutItem): boolean {
  return i !== '' && [...i].length <= MOCKUP_LIMITS.commentItem;
}

const TEXT = { most: MOCKUP_LIMITS.comment, isRequired: true };

/** What the user says, of what they choose. */
export function CommentForm(props: {
  items: readonly LayoutItem[];
  chosen: string | undefined;
  onChoose: (item: string | undefined) => void;
  isPending: boolean;
  /** Returns whether it is saved. */
  onSubmit: (text: string) => Promise<boolean>;
}) {
  const { items, chosen, onChoose, isPending, onSubmit } = props;
  const { nameOfItem } = useWords();
  const { t } = useTranslationRef(mockupTranslationRef);
  const [text, setText] = useState('');
  const [isAsked, setAsked] = useState(false);
  const options = useMemo(
    () => [
      { id: WHOLE, label: t('review.whole') },
      ...items
        .filter(isCommentable)
        .map(item => ({ id: item.i, label: nameOfItem(item) })),
    ],
    [items, nameOfItem, t],
  );
  return (
    <>
      <form
        className={styles.form}
        onSubmit={async event => {
          event.preventDefault();
          setAsked(true);
          if (isWithin(text, TEXT) && (await onSubmit(text))) {
            // More may have been typed meanwhile.
            setText(now => (now === text ? '' : now));
            setAsked(false);
          }
        }}
      >
        <Select
          label={t('review.about')}
          options={options}
          value={chosen ?? WHOLE}
          onChange={next =>
            onChoose(next === WHOLE ? undefined : (next as string))
          }
        />
        <LimitedField
          {...TEXT}
          label={t('review.text')}
          description={t('review.textHelp')}
          isLong
          value={text}
          onChange={setText}
          isTried={isAsked}
          style={{ width: '100%' }}
        />
        <Button type="submit" isPending={isPending}>
          {t('review.submit')}
        </Button>
      </form>
      <LeaveDialog isChanged={text.trim() !== ''} />
    </>
  );
}
