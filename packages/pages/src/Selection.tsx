import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Flex, Text } from '@backstage/ui';
import { useState } from 'react';
import { type Action, ActionButton } from './ActionDialog';
import { useFailureText } from './Failure';
import { pagesTranslationRef } from './translation';

/** Those of the shown items that are chosen, by their ids. */
export function useSelection() {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  return {
    ids,
    setIds,
    toggle: (id: string, isChosen: boolean) => {
      const next = new Set(ids);
      if (isChosen) {
        next.add(id);
      } else {
        next.delete(id);
      }
      setIds(next);
    },
  };
}

/** What is done with each of several items, after the user was asked. */
export type SelectedAction<TItem> = Omit<
  Action,
  'onSubmit' | 'onDone' | 'children'
> & {
  open: string;
  does: (item: TItem) => Promise<unknown>;
};

/** What can be done with the items that are chosen; nothing while there are none. */
export function SelectedActions<TItem>(props: {
  chosen: TItem[];
  nameOf: (item: TItem) => string;
  actions: SelectedAction<TItem>[];
  onChoose: (items: TItem[]) => void;
  /** After it was tried with all. Where it has failed stays chosen. */
  onDone: () => void;
}) {
  const { chosen, nameOf, actions, onChoose, onDone } = props;
  const { t } = useTranslationRef(pagesTranslationRef);
  const textOf = useFailureText();

  async function doEach(does: (item: TItem) => Promise<unknown>) {
    const left: TItem[] = [];
    const problems: string[] = [];
    // One after the other: the backend has others to serve.
    for (const item of chosen) {
      try {
        await does(item);
      } catch (error) {
        left.push(item);
        problems.push(`${nameOf(item)}: ${textOf(error)}`);
      }
    }
    onChoose(left);
    onDone();
    if (problems.length > 0) {
      throw new Error(problems.join('\n'));
    }
  }

  return (
    <div role="group" aria-label={t('selection.label')}>
      {chosen.length > 0 && (
        <Flex align="center" gap="2" style={{ flexWrap: 'wrap' }}>
          <Text role="status">
            {t('selection.count', { count: chosen.length })}
          </Text>
          <Button variant="tertiary" size="small" onPress={() => onChoose([])}>
            {t('selection.clear')}
          </Button>
          {actions.map(({ does, ...action }) => (
            <ActionButton
              key={action.open}
              {...action}
              onSubmit={() => doEach(does)}
            />
          ))}
        </Flex>
      )}
    </div>
  );
}
