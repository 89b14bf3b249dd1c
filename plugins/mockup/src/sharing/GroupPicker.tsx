import type { Entity } from '@backstage/catalog-model';
import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  catalogApiRef,
  defaultEntityPresentation,
} from '@backstage/plugin-catalog-react';
import { type Found, type Picked, Picker } from '@internal/pages';
import { RiGroupLine } from '@remixicon/react';
import { useCallback } from 'react';
import { mockupTranslationRef } from '../translation';
import { parseGroup } from './groups';

/** How many groups are offered at once. */
const MOST = 20;

const SEARCHED_FIELDS = [
  'metadata.name',
  'metadata.title',
  'spec.profile.displayname',
];
const FIELDS = [
  'kind',
  'metadata.name',
  'metadata.namespace',
  'metadata.title',
  'spec.profile.displayName',
];

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
  const catalogApi = useApi(catalogApiRef);
  const find = useCallback(
    async (text: string): Promise<Found> => {
      try {
        const { items, totalItems } = await catalogApi.queryEntities({
          filter: { kind: 'group' },
          fields: FIELDS,
          orderFields: { field: 'metadata.name', order: 'asc' },
          limit: MOST,
          ...(text && {
            fullTextFilter: { term: text, fields: SEARCHED_FIELDS },
          }),
        });
        return { options: items.map(toOption), totalItems };
      } catch {
        return { problem: t('sharing.add.unavailable') };
      }
    },
    [catalogApi, t],
  );

  return (
    // Enter in the field is no submit of the form around it.
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions
    <div
      onKeyDownCapture={event => {
        const isOnOption =
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
        find={find}
        asTyped={text => {
          const typed = parseGroup(text);
          return 'group' in typed
            ? {
                id: typed.group,
                text: typed.group,
                label: t('sharing.add.typed', typed),
              }
            : undefined;
        }}
        texts={{
          nothing: t('sharing.add.nobody'),
          more: numbers => t('sharing.add.more', numbers),
          found: count => t('sharing.add.found', { count }),
        }}
      />
    </div>
  );
}

function toOption(entity: Entity) {
  const { entityRef: group, primaryTitle: title } =
    defaultEntityPresentation(entity);
  return {
    id: group,
    label: title,
    text: `${title} (${group})`,
    description: group,
    leadingIcon: <RiGroupLine aria-hidden />,
  };
}
