import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { type Picked, Picker } from '@internal/pages';
import { RiGroupLine } from '@remixicon/react';
import { useState } from 'react';
import { mockupTranslationRef } from '../translation';
import { parseGroup } from './groups';
import { useGroupSearch } from './useGroupSearch';

/** A field that finds groups of the catalog, and takes any reference of a group that is typed. */
export function GroupPicker(props: {
  value: Picked;
  onChange: (value: Picked) => void;
  /** Enter, where nothing is to be picked. */
  onSubmit: () => void;
  /** What is wrong with the value. */
  problem?: string;
}) {
  const { value, onChange, onSubmit, problem } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [isOpen, setOpen] = useState(false);
  const search = useGroupSearch(
    isOpen && value.id === undefined ? value.text : undefined,
  );
  const found = search.state === 'found' ? search : undefined;
  const groups = found?.groups ?? [];
  const typed = parseGroup(value.text);
  const isNew =
    'group' in typed &&
    (found || search.state === 'failed') &&
    !groups.some(({ group }) => group === typed.group);

  const noteOf = ({ totalItems }: NonNullable<typeof found>) => {
    if (groups.length === 0) {
      return t('sharing.add.nobody');
    }
    return groups.length < totalItems
      ? t('sharing.add.more', {
          shown: String(groups.length),
          total: String(totalItems),
        })
      : undefined;
  };

  return (
    // Enter in the field is no submit of the form around it.
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions
    <div
      onKeyDownCapture={event => {
        const isOnOption =
          isOpen &&
          event.target instanceof Element &&
          event.target.hasAttribute('aria-activedescendant');
        if (event.key === 'Enter' && !isOnOption) {
          event.preventDefault();
          onSubmit();
        }
      }}
    >
      <Picker
        label={t('sharing.add.label')}
        description={t('sharing.add.help')}
        value={value}
        onChange={onChange}
        error={problem}
        // The list would lie over the groups as soon as the dialog is open.
        menuTrigger="input"
        options={groups.map(({ group, title }) => ({
          id: group,
          label: title,
          text: `${title} (${group})`,
          description: group,
          leadingIcon: <RiGroupLine aria-hidden />,
        }))}
        isSearching={search.state === 'searching'}
        asTyped={
          isNew
            ? {
                id: typed.group,
                text: typed.group,
                label: t('sharing.add.typed', { group: typed.group }),
              }
            : undefined
        }
        note={found && noteOf(found)}
        found={found && t('sharing.add.found', { count: groups.length })}
        problem={
          search.state === 'failed' ? t('sharing.add.unavailable') : undefined
        }
        onOpenChange={setOpen}
      />
    </div>
  );
}
