import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { type Picked, Picker } from '@internal/pages';
import { RiGroupLine, RiUserLine } from '@remixicon/react';
import type { CatalogPrincipal } from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsTranslationRef } from '../../translation';
import { isPlainSubject } from './useMembers';
import { type PrincipalSearch, usePrincipalSearch } from './usePrincipalSearch';

/**
 * A field that finds people and groups of the identity catalog, and takes any principal that
 * is typed: services are in no catalog, and not everybody may read it.
 */
export function PrincipalPicker(props: {
  slug: string;
  value: Picked;
  onChange: (value: Picked) => void;
  /** What is wrong with the value. */
  error?: string;
}) {
  const { slug, value, onChange, error } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [isOpen, setOpen] = useState(false);
  const search = usePrincipalSearch(
    slug,
    isOpen && value.id === undefined ? value.text : undefined,
  );
  const found = search.state === 'found' ? search : undefined;
  const typed = value.text.trim();
  const problems: Partial<Record<PrincipalSearch['state'], string>> = {
    refused: t('members.add.refused'),
    failed: t('members.add.unavailable'),
  };

  const noteOf = ({ items, totalItems }: NonNullable<typeof found>) => {
    if (items.length === 0) {
      return t('members.add.nobody');
    }
    return items.length < totalItems
      ? t('members.add.more', {
          shown: String(items.length),
          total: String(totalItems),
        })
      : undefined;
  };

  return (
    <Picker
      label={t('members.add.label')}
      description={t('members.add.description')}
      placeholder={t('members.add.placeholder')}
      value={value}
      onChange={onChange}
      error={error}
      options={found ? found.items.map(toOption) : []}
      isSearching={search.state === 'searching'}
      asTyped={
        typed && search.state !== 'idle'
          ? {
              id: typed,
              text: typed,
              label: t(
                isPlainSubject(typed)
                  ? 'members.add.asService'
                  : 'members.add.asTyped',
                { text: typed },
              ),
            }
          : undefined
      }
      note={found && noteOf(found)}
      found={found && t('members.add.found', { count: found.items.length })}
      problem={problems[search.state]}
      onOpenChange={setOpen}
    />
  );
}

function toOption({ principal, kind, display_name: name }: CatalogPrincipal) {
  return {
    id: principal,
    label: name ?? principal,
    text: name ? `${name} (${principal})` : principal,
    description: name ? principal : undefined,
    leadingIcon:
      kind === 'group' ? (
        <RiGroupLine aria-hidden />
      ) : (
        <RiUserLine aria-hidden />
      ),
  };
}
