import { useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Button,
  Dialog,
  DialogBody,
  DialogFooter,
  DialogHeader,
  Flex,
  Radio,
  RadioGroup,
  Text,
} from '@backstage/ui';
import { Moment } from '@internal/pages';
import { isEqualJson, type LayoutItem } from 'backstage-plugin-mockup-common';
import { type ReactNode, useMemo, useState } from 'react';
import { Person } from '../../components/Person';
import { LayoutDifferenceView } from '../../history/difference/LayoutDifferenceView';
import { useWords } from '../../history/difference/useWords';
import { mockupTranslationRef } from '../../translation';
import styles from '../editor.module.css';
import type { Saved } from '../model/content';
import { type Merge, merge } from '../model/differences';
import type { Content } from '../model/editorReducer';
import { Differences } from './Differences';

/** Shows what another user has saved meanwhile, and asks which of the two to keep. */
export function ConflictDialog(props: {
  /** What both have started from. */
  base: Content;
  mine: Content;
  theirs: Saved;
  isPending: boolean;
  /** Why nothing was saved of what was chosen here. */
  failure: ReactNode;
  onTakeTheirs: () => void;
  onSaveMine: () => void;
  onMerge: (result: Content) => void;
  onLater: () => void;
}) {
  const { base, mine, theirs, isPending, failure } = props;
  const { onTakeTheirs, onSaveMine, onMerge, onLater } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [isMerging, setMerging] = useState(false);
  const merging = useMemo(
    () => merge(base, mine, theirs.content),
    [base, mine, theirs],
  );
  // The drawing is made again for other lists.
  const drawn = useMemo(
    () => ({ before: [...mine.items], after: [...theirs.content.items] }),
    [mine, theirs],
  );
  const isOnlyTime = isEqualJson(base, theirs.content);

  return (
    <Dialog
      isOpen
      isDismissable={false}
      width={`min(${isMerging ? 640 : 1080}px, calc(100vw - 32px))`}
      style={{ minWidth: 0 }}
      onOpenChange={isOpen => {
        if (!isOpen && !isPending) {
          onLater();
        }
      }}
    >
      <DialogHeader>
        {t(isMerging ? 'editor.merge.title' : 'editor.conflict.title')}
      </DialogHeader>
      {isMerging ? (
        <Decisions
          merging={merging}
          onMerge={onMerge}
          onBack={() => setMerging(false)}
        />
      ) : (
        <>
          <DialogBody>
            <Flex direction="column" gap="3">
              {failure}
              <Text as="p">
                {theirs.savedBy !== undefined && (
                  <>
                    {t('editor.conflict.lastVersion')}{' '}
                    <Person entityRef={theirs.savedBy} />.{' '}
                  </>
                )}
                {t('editor.conflict.changed')} <Moment at={theirs.updatedAt} />
              </Text>
              {isOnlyTime ? (
                <Text as="p">{t('editor.conflict.onlyTime')}</Text>
              ) : (
                <>
                  <Text as="p">{t('editor.conflict.differences')}</Text>
                  <Differences before={base} after={theirs.content} />
                </>
              )}
              <ul>
                <li>{t('editor.conflict.explainMerge')}</li>
                <li>{t('editor.conflict.explainMine')}</li>
                <li>{t('editor.conflict.explainTheirs')}</li>
              </ul>
              {!isOnlyTime &&
                !isEqualJson(mine.items, theirs.content.items) && (
                  <>
                    <Text as="p">{t('editor.conflict.drawn')}</Text>
                    <div className={styles.conflict}>
                      <LayoutDifferenceView
                        {...drawn}
                        beforeTitle={t('editor.conflict.mineTitle')}
                        afterTitle={t('editor.conflict.theirsTitle')}
                      />
                    </div>
                  </>
                )}
            </Flex>
          </DialogBody>
          <DialogFooter className={styles.footer}>
            <Button variant="tertiary" onPress={onLater} isDisabled={isPending}>
              {t('editor.conflict.later')}
            </Button>
            <Button
              variant="secondary"
              onPress={onTakeTheirs}
              isDisabled={isPending}
            >
              {t('editor.conflict.theirs')}
            </Button>
            <Button
              variant="secondary"
              onPress={onSaveMine}
              isPending={isPending}
            >
              {t('editor.conflict.mine')}
            </Button>
            <Button
              isDisabled={isPending}
              onPress={() =>
                merging.clashes.length > 0
                  ? setMerging(true)
                  : onMerge(merging.resultOf(new Set()))
              }
            >
              {t('editor.conflict.merge')}
            </Button>
          </DialogFooter>
        </>
      )}
    </Dialog>
  );
}

/** What both have changed: one choice for each. */
function Decisions(props: {
  merging: Merge;
  onMerge: (result: Content) => void;
  onBack: () => void;
}) {
  const { merging, onMerge, onBack } = props;
  const { nameOfItem, labelOf } = useWords();
  const { t } = useTranslationRef(mockupTranslationRef);
  const [decided, setDecided] = useState<ReadonlySet<string>>(new Set());
  const decide = (key: string, isTheirs: boolean) => {
    const next = new Set(decided);
    next.delete(key);
    if (isTheirs) {
      next.add(key);
    }
    setDecided(next);
  };
  const saysItem = (item: LayoutItem | undefined) =>
    item ? labelOf(item) : t('editor.merge.removed');
  const choices = merging.clashes.map(clash => {
    if ('field' in clash) {
      const { key, field, mine, theirs } = clash;
      return choice(key, t(`list.details.${field}`), mine, theirs);
    }
    const { key, i, mine, theirs } = clash;
    const known = mine ?? theirs;
    const label = known ? nameOfItem(known) : i;
    return choice(key, label, saysItem(mine), saysItem(theirs));
  });
  return (
    <>
      <DialogBody>
        <Flex direction="column" gap="4">
          <Text as="p">{t('editor.merge.text')}</Text>
          {choices}
        </Flex>
      </DialogBody>
      <DialogFooter className={styles.footer}>
        <Button variant="secondary" onPress={onBack}>
          {t('editor.merge.back')}
        </Button>
        <Button onPress={() => onMerge(merging.resultOf(decided))}>
          {t('editor.merge.apply')}
        </Button>
      </DialogFooter>
    </>
  );

  function choice(key: string, label: string, my: string, their: string) {
    return (
      <RadioGroup
        key={key}
        label={label}
        value={decided.has(key) ? 'theirs' : 'mine'}
        onChange={value => decide(key, value === 'theirs')}
      >
        <Radio value="mine">{t('editor.merge.mine', { value: my })}</Radio>
        <Radio value="theirs">
          {t('editor.merge.theirs', { value: their })}
        </Radio>
      </RadioGroup>
    );
  }
}
