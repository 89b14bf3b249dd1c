import { useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Combobox,
  type IdentifiedOption,
  Text,
  VisuallyHidden,
} from '@backstage/ui';
import { RiGroupLine } from '@remixicon/react';
import { useState } from 'react';
import { mockupTranslationRef } from '../translation';
import { parseGroup } from './groups';
import { type FoundGroup, useGroupSearch } from './useGroupSearch';

/** What somebody has picked or typed. */
export interface PickedGroup {
  /** What the field shows. */
  text: string;
  /** The reference of a group that was picked; there is nothing to search for then. */
  group?: string;
}

export const NOTHING_PICKED: PickedGroup = { text: '' };

// No reference has a NUL character in it.
const AS_TYPED = '\0typed';
const NOTE = '\0note';

/** A field that finds groups of the catalog, and takes any reference of a group that is typed. */
export function GroupPicker(props: {
  value: PickedGroup;
  onChange: (value: PickedGroup) => void;
  /** Enter, where nothing is to be picked. */
  onSubmit: () => void;
  /** What is wrong with the value. */
  problem?: string;
}) {
  const { value, onChange, onSubmit, problem } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [isOpen, setOpen] = useState(false);
  const search = useGroupSearch(
    isOpen && value.group === undefined ? value.text : undefined,
  );
  const groups = 'groups' in search ? search.groups : [];
  const typed = parseGroup(value.text);
  const pick = (id: unknown) => {
    if (id === AS_TYPED && 'group' in typed) {
      onChange({ text: typed.group, group: typed.group });
      return;
    }
    const found = groups.find(({ group }) => group === id);
    if (found) {
      onChange({ text: textOf(found), group: found.group });
    }
  };
  const note = noteOf();
  const options: IdentifiedOption[] =
    value.group !== undefined
      ? // The list has to have what is picked, or the field gives it up.
        [{ id: value.group, label: value.text }]
      : [
          ...groups.map(each => ({
            id: each.group,
            label: each.title,
            description: each.isOwn
              ? `${each.group} · ${t('sharing.add.own')}`
              : each.group,
            leadingIcon: <RiGroupLine aria-hidden />,
          })),
          ...(note ? [{ id: NOTE, label: note, disabled: true }] : []),
          ...('group' in typed &&
          'groups' in search &&
          !groups.some(({ group }) => group === typed.group)
            ? [
                {
                  id: AS_TYPED,
                  label: t('sharing.add.typed', { group: typed.group }),
                },
              ]
            : []),
        ];

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
      <Combobox
        label={t('sharing.add.label')}
        description={t('sharing.add.help')}
        options={options}
        search={{
          mode: 'server',
          inputValue: value.text,
          onInputChange: text => onChange({ text }),
        }}
        loading={{ state: search.state === 'searching' ? 'filtering' : 'idle' }}
        value={value.group ?? null}
        onChange={pick}
        onOpenChange={setOpen}
        // The list would lie over the groups as soon as the dialog is open.
        menuTrigger="input"
        allowsCustomValue
        validationBehavior="aria"
        validate={() => problem ?? null}
      />
      <div role="status">
        {search.state === 'failed' && (
          <Text as="p" variant="body-small" color="warning">
            {t('sharing.add.unavailable')}
          </Text>
        )}
        {isOpen && search.state === 'found' && (
          <VisuallyHidden>
            {t('sharing.add.found', { count: groups.length })}
          </VisuallyHidden>
        )}
      </div>
    </div>
  );

  /** What is said of an answer, below what it has found. */
  function noteOf() {
    if (search.state !== 'found') {
      return undefined;
    }
    const shown = search.groups.length;
    if (shown === 0) {
      return t('sharing.add.nobody');
    }
    return shown < search.totalItems
      ? t('sharing.add.more', {
          shown: String(shown),
          total: String(search.totalItems),
        })
      : undefined;
  }
}

function textOf({ title, group }: FoundGroup): string {
  return `${title} (${group})`;
}
