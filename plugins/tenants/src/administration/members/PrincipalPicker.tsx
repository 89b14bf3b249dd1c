import { isError } from '@backstage/errors';
import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { type Found, type Picked, Picker } from '@internal/pages';
import { RiGroupLine, RiUserLine } from '@remixicon/react';
import type { CatalogPrincipal } from 'backstage-plugin-tenants-common';
import { useCallback, useRef } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { isPlainSubject } from './useMembers';

/** The longest text for which the backend searches. */
const LONGEST_SEARCH = 100;

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
  const tenantsApi = useApi(tenantsApiRef);
  const isRefused = useRef(false);
  const find = useCallback(
    async (text: string): Promise<Found> => {
      // A refusal would be the same for any text.
      if (isRefused.current) {
        return { problem: t('members.add.refused') };
      }
      try {
        const search = text.slice(0, LONGEST_SEARCH);
        const { items, totalItems } = await tenantsApi.findPrincipals(
          slug,
          search ? { search } : {},
        );
        return { options: items.map(toOption), totalItems };
      } catch (thrown) {
        isRefused.current = isRefusal(thrown);
        return {
          problem: t(
            isRefused.current
              ? 'members.add.refused'
              : 'members.add.unavailable',
          ),
        };
      }
    },
    [slug, tenantsApi, t],
  );

  return (
    <Picker
      label={t('members.add.label')}
      description={t('members.add.description')}
      placeholder={t('members.add.placeholder')}
      value={value}
      onChange={onChange}
      error={error}
      find={find}
      asTyped={text =>
        text
          ? {
              id: text,
              text,
              label: t(
                isPlainSubject(text)
                  ? 'members.add.asService'
                  : 'members.add.asTyped',
                { text },
              ),
            }
          : undefined
      }
      texts={{
        nothing: t('members.add.nobody'),
        more: numbers => t('members.add.more', numbers),
        found: count => t('members.add.found', { count }),
      }}
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

/** Whether the caller may change members, but may not read the catalog of identities. */
function isRefusal(error: unknown): boolean {
  return (
    isError(error) &&
    isError(error.cause) &&
    error.cause.name === 'IdentityCatalogNotAllowedError'
  );
}
