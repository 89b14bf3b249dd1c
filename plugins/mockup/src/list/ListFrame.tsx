import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Flex, SearchField, Text, VisuallyHidden } from '@backstage/ui';
import type { Page } from 'backstage-plugin-mockup-common';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import useDebounce from 'react-use/esm/useDebounce';
import { Failure } from '../components/Failure';
import { Loading } from '../components/Loading';
import { mockupTranslationRef } from '../translation';
import { PAGE_SIZE } from './useMockups';

const DEBOUNCE_MS = 300;

/** A page of a list, in whatever state it is: loading, failed, empty, or there. */
export function ListFrame<TItem>(props: {
  state: {
    value?: Page<TItem>;
    error?: Error;
    loading: boolean;
    retry: () => void;
  };
  query: { search: string; page: number };
  onQuery: (changes: { search?: string; page?: number }) => void;
  failed: string;
  /** What is said where there is nothing to find. */
  none: ReactNode;
  children: (items: TItem[]) => ReactNode;
}) {
  const { state, query, onQuery, failed, none, children } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const { value: found, error, loading, retry } = state;
  const isThere = found && !error;
  return (
    <>
      <VisuallyHidden role="status">
        {loading || !isThere
          ? ''
          : t('list.found', { count: found.totalItems })}
      </VisuallyHidden>
      {error && !loading && (
        <Failure title={failed} error={error} onRetry={retry} />
      )}
      {loading && !isThere && <Loading height={240} />}
      {isThere && found.items.length > 0 && (
        <>
          <div aria-busy={loading}>{children(found.items)}</div>
          <Pages
            page={query.page}
            totalItems={found.totalItems}
            onPage={page => onQuery({ page })}
          />
        </>
      )}
      {isThere && found.items.length === 0 && (
        <Nothing
          query={query}
          isBeyond={found.totalItems > 0}
          onQuery={onQuery}
          none={none}
        />
      )}
    </>
  );
}

/** Hands on what is typed once the typing pauses. */
export function SearchInput(props: {
  search: string;
  onSearch: (search: string) => void;
}) {
  const { search, onSearch } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const [text, setText] = useState(search);
  const handedOn = useRef(search);
  useDebounce(
    () => {
      if (text !== handedOn.current) {
        handedOn.current = text;
        onSearch(text);
      }
    },
    DEBOUNCE_MS,
    [text],
  );
  // The way back changes the address too, and what was typed since must not be lost for
  // what was handed on before.
  useEffect(() => {
    if (search !== handedOn.current) {
      handedOn.current = search;
      setText(search);
    }
  }, [search]);
  return (
    <SearchField
      label={t('list.search.label')}
      placeholder={t('list.search.placeholder')}
      value={text}
      onChange={setText}
      maxLength={255}
      style={{ flex: '1 1 240px', maxWidth: 480 }}
    />
  );
}

function Pages(props: {
  page: number;
  totalItems: number;
  onPage: (page: number) => void;
}) {
  const { page, totalItems, onPage } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const to = Math.min(page * PAGE_SIZE, totalItems);
  return (
    <nav aria-label={t('list.page.label')}>
      <Flex align="center" gap="3" style={{ flexWrap: 'wrap' }}>
        <Text color="secondary">
          {t('list.page.shown', {
            from: String((page - 1) * PAGE_SIZE + 1),
            to: String(to),
            total: String(totalItems),
          })}
        </Text>
        <Button
          variant="secondary"
          size="small"
          isDisabled={page === 1}
          onPress={() => onPage(page - 1)}
        >
          {t('list.page.previous')}
        </Button>
        <Button
          variant="secondary"
          size="small"
          isDisabled={to === totalItems}
          onPress={() => onPage(page + 1)}
        >
          {t('list.page.next')}
        </Button>
      </Flex>
    </nav>
  );
}

function Nothing(props: {
  query: { search: string };
  isBeyond: boolean;
  onQuery: (changes: { search?: string; page?: number }) => void;
  none: ReactNode;
}) {
  const { query, isBeyond, onQuery, none } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  if (isBeyond) {
    return (
      <Flex direction="column" align="start" gap="3">
        <Text>{t('list.beyond')}</Text>
        <Button variant="secondary" onPress={() => onQuery({ page: 1 })}>
          {t('list.first')}
        </Button>
      </Flex>
    );
  }
  if (query.search) {
    return (
      <Flex direction="column" align="start" gap="3">
        <Text>{t('list.noMatch', { search: query.search })}</Text>
        <Button
          variant="secondary"
          onPress={() => onQuery({ search: '', page: 1 })}
        >
          {t('list.clear')}
        </Button>
      </Flex>
    );
  }
  return <>{none}</>;
}
