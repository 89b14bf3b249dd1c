import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Flex, Text } from '@backstage/ui';
import { useState } from 'react';
import { type Action, ActionButton } from './ActionDialog';
import { useFailureText } from './Failure';
import { pagesTranslationRef } from './translation';
import { useLaterFocus } from './useLaterFocus';

/** Those of the shown items that are chosen. */
export function useSelection<TItem>(
  items: TItem[],
  idOf: (item: TItem) => string,
) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const chosen = items.filter(item => ids.has(idOf(item)));
  const choose = (some: TItem[]) => setIds(new Set(some.map(idOf)));
  return {
    ids,
    chosen,
    choose,
    chooseIds: (some: Iterable<string>) => setIds(new Set(some)),
    /** For a checkbox at the item. */
    choiceOf: (item: TItem) => ({
      isSelected: ids.has(idOf(item)),
      onChange: (isChosen: boolean) =>
        choose(
          isChosen ? [...chosen, item] : chosen.filter(each => each !== item),
        ),
    }),
  };
}

/** What is done with each of several items, after the user was asked and has read their names. */
export type SelectedAction<TItem> = Pick<
  Action,
  'title' | 'warning' | 'typed' | 'destructive'
> & {
  /** What the button says, and that of the dialog. */
  open: string;
  /** What will happen. */
  text?: string;
  does: (item: TItem) => Promise<unknown>;
};

/** What can be done with the items that are chosen; nothing while there are none. */
export function SelectedActions<TItem>(props: {
  selection: Pick<ReturnType<typeof useSelection<TItem>>, 'chosen' | 'choose'>;
  nameOf: (item: TItem) => string;
  actions: SelectedAction<TItem>[];
  /** After it was tried with all. Where it has failed stays chosen. */
  onDone: () => void;
}) {
  const { selection, nameOf, actions, onDone } = props;
  const { chosen, choose } = selection;
  const { t } = useTranslationRef(pagesTranslationRef);
  const textOf = useFailureText();
  // The buttons go with the selection.
  const [group, focusGroup] = useLaterFocus<HTMLDivElement>();

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
    choose(left);
    onDone();
    if (problems.length > 0) {
      throw new Error(problems.join('\n'));
    }
    focusGroup();
  }

  return (
    <div
      ref={group}
      tabIndex={-1}
      role="group"
      aria-label={t('selection.label')}
    >
      {chosen.length > 0 && (
        <Flex align="center" gap="2" style={{ flexWrap: 'wrap' }}>
          <Text role="status">
            {t('selection.count', { count: chosen.length })}
          </Text>
          <Button
            variant="tertiary"
            size="small"
            onPress={() => {
              choose([]);
              focusGroup();
            }}
          >
            {t('selection.clear')}
          </Button>
          {actions.map(({ does, text, ...action }) => (
            <ActionButton
              key={action.open}
              {...action}
              texts={[
                chosen.map(nameOf).join(', '),
                ...(text === undefined ? [] : [text]),
              ]}
              submit={action.open}
              failed={t('selection.failed')}
              onSubmit={() => doEach(does)}
            />
          ))}
        </Flex>
      )}
    </div>
  );
}
