import { useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Combobox,
  type IdentifiedOption,
  Text,
  VisuallyHidden,
} from '@backstage/ui';
import { RiGroupLine, RiUserLine } from '@remixicon/react';
import type { CatalogPrincipal } from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsTranslationRef } from '../../translation';
import { isPlainSubject } from './useMembers';
import { type PrincipalSearch, usePrincipalSearch } from './usePrincipalSearch';

/** What somebody has picked or typed. */
export interface PickedPrincipal {
  /** The principal of what was picked, or else the text. */
  principal: string;
  /** What the field shows. */
  text: string;
  /** Whether it was picked, so that there is nothing to search for. */
  isPicked: boolean;
}

export const NOTHING_PICKED = typedPrincipal('');

// No principal has a NUL character in it.
const AS_TYPED = '\0typed';
const NOTE = '\0note';

/**
 * A field that finds people and groups of the identity catalog, and takes any principal that
 * is typed: services are in no catalog, and not everybody may read it.
 */
export function PrincipalPicker(props: {
  slug: string;
  value: PickedPrincipal;
  onChange: (value: PickedPrincipal) => void;
  /** What is wrong with the value. */
  error?: string;
  isDisabled?: boolean;
}) {
  const { slug, value, onChange, error, isDisabled } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [isOpen, setIsOpen] = useState(false);
  const search = usePrincipalSearch(
    slug,
    isOpen && !value.isPicked ? value.text : undefined,
  );
  const typed = value.text.trim();

  const problems: Partial<Record<PrincipalSearch['state'], string>> = {
    refused: t('members.add.refused'),
    failed: t('members.add.unavailable'),
  };
  const problem = problems[search.state];

  /** What is said of a search that has an answer, below what it has found. */
  const noteOf = (found: PrincipalSearch) => {
    if (found.state !== 'found') {
      return undefined;
    }
    const shown = found.items.length;
    if (shown === 0) {
      return t('members.add.nobody');
    }
    return shown < found.totalItems
      ? t('members.add.more', {
          shown: String(shown),
          total: String(found.totalItems),
        })
      : undefined;
  };

  const pick = (id: unknown) => {
    if (id === AS_TYPED) {
      onChange({ ...typedPrincipal(typed), isPicked: true });
      return;
    }
    const found =
      search.state === 'found'
        ? search.items.find(({ principal }) => principal === id)
        : undefined;
    if (found) {
      const { principal } = found;
      onChange({ principal, text: textOf(found), isPicked: true });
    }
  };

  const note = noteOf(search);
  const options: IdentifiedOption[] = value.isPicked
    ? // The list has to have what is picked, or the field gives it up.
      [{ id: value.principal, label: value.text }]
    : [
        ...(search.state === 'found' ? search.items.map(toOption) : []),
        ...(note ? [{ id: NOTE, label: note, disabled: true }] : []),
        ...(typed && search.state !== 'idle'
          ? [
              {
                id: AS_TYPED,
                label: t(
                  isPlainSubject(typed)
                    ? 'members.add.asService'
                    : 'members.add.asTyped',
                  { text: typed },
                ),
              },
            ]
          : []),
      ];

  return (
    <div>
      <Combobox
        label={t('members.add.label')}
        description={t('members.add.description')}
        placeholder={t('members.add.placeholder')}
        size="medium"
        options={options}
        search={{
          mode: 'server',
          inputValue: value.text,
          onInputChange: text => onChange(typedPrincipal(text)),
        }}
        loading={{ state: search.state === 'searching' ? 'filtering' : 'idle' }}
        value={value.isPicked ? value.principal : null}
        onChange={pick}
        onOpenChange={setIsOpen}
        allowsCustomValue
        isDisabled={isDisabled}
        validationBehavior="aria"
        validate={() => error ?? null}
      />
      <div role="status">
        {problem && (
          <Text as="p" variant="body-small" color="warning">
            {problem}
          </Text>
        )}
        {isOpen && search.state === 'found' && (
          <VisuallyHidden>
            {t('members.add.found', { count: search.items.length })}
          </VisuallyHidden>
        )}
      </div>
    </div>
  );
}

function typedPrincipal(text: string): PickedPrincipal {
  return { principal: text.trim(), text, isPicked: false };
}

function textOf({ principal, display_name }: CatalogPrincipal): string {
  return display_name ? `${display_name} (${principal})` : principal;
}

function toOption(found: CatalogPrincipal): IdentifiedOption {
  const { principal, kind, display_name } = found;
  return {
    id: principal,
    label: display_name ?? principal,
    description: display_name ? principal : undefined,
    leadingIcon:
      kind === 'group' ? (
        <RiGroupLine aria-hidden />
      ) : (
        <RiUserLine aria-hidden />
      ),
  };
}
