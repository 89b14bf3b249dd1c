import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Flex, SearchField, Text, VisuallyHidden } from '@backstage/ui';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import useDebounce from 'react-use/esm/useDebounce';
import { EmptyState } from './EmptyState';
import { ReadFailure } from './Failure';
import { keepFocus } from './keepFocus';
import { Loading } from './Loading';
import { useNumber } from './Moment';
import { SlowNote } from './SlowNote';
import { pagesTranslationRef } from './translation';

const DEBOUNCE_MS = 300;

type OnQuery = (
  changes: { search?: string; page?: number },
  how?: 'push' | 'replace',
) => void;

/** A page of a list, in whatever state it is: loading, failed, empty, or there. */
export function ListFrame<TItem>(props: {
  state: {
    value?: { items: TItem[]; totalItems: number };
    error?: Error;
    loading: boolean;
    retry: () => void;
  };
  query: { search: string; page: number };
  onQuery: OnQuery;
  pageSize: number;
  texts: {
    failed: string;
    found: (count: number) => string;
    /** Where the list can be searched. */
    noMatch?: (search: string) => string;
    /** Where there is nothing to find. */
    none: string;
  };
  /** What to do where there is nothing to find. */
  noneAction?: ReactNode;
  children: (items: TItem[], isStale: boolean) => ReactNode;
}) {
  const { state, query, onQuery, pageSize, texts, children } = props;
  const { value: found, error, loading } = state;
  const isThere = found && !error;
  // Until the next answer, what was found is of what was asked for before.
  const answered = useRef(props);
  if (answered.current.state.value !== found) {
    answered.current = props;
  }
  const last = Math.max(1, Math.ceil((found?.totalItems ?? 0) / pageSize));
  const isBeyond =
    isThere && !loading && found.items.length === 0 && query.page > last;
  // All that the page had are gone, or its address is of another time.
  useEffect(() => {
    if (isBeyond) {
      onQuery({ page: last }, 'replace');
    }
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [isBeyond, last]);
  return (
    <>
      <VisuallyHidden role="status">
        {loading || !isThere ? '' : texts.found(found.totalItems)}
      </VisuallyHidden>
      <ReadFailure title={texts.failed} state={state} />
      {(isBeyond || (loading && !isThere && !error)) && <Loading />}
      <SlowNote isPending={Boolean(loading && isThere)} />
      {isThere && found.items.length > 0 && (
        <>
          <div aria-busy={loading}>{children(found.items, loading)}</div>
          <Pages
            page={query.page}
            pageSize={pageSize}
            totalItems={found.totalItems}
            onPage={page => onQuery({ page })}
          />
        </>
      )}
      {isThere && found.items.length === 0 && !isBeyond && (
        <Nothing {...answered.current} />
      )}
    </>
  );
}

/** Hands on what is typed once the typing pauses. */
export function SearchInput(props: {
  search: string;
  onSearch: (search: string) => void;
  placeholder: string;
}) {
  const { search, onSearch, placeholder } = props;
  const { t } = useTranslationRef(pagesTranslationRef);
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
      label={t('list.search')}
      placeholder={placeholder}
      value={text}
      onChange={setText}
      maxLength={255}
      style={{ flex: '1 1 240px', maxWidth: 480 }}
    />
  );
}

/** Which part of a list is shown, and the way to the others. */
export function Pages(props: {
  page: number;
  pageSize: number;
  totalItems: number;
  onPage: (page: number) => void;
}) {
  const { page, pageSize, totalItems, onPage } = props;
  const { t } = useTranslationRef(pagesTranslationRef);
  const numberOf = useNumber();
  const to = Math.min(page * pageSize, totalItems);
  return (
    <nav aria-label={t('list.page.label')}>
      <Flex align="center" gap="3" style={{ flexWrap: 'wrap' }}>
        <Text color="secondary">
          {t('list.page.shown', {
            from: numberOf((page - 1) * pageSize + 1),
            to: numberOf(to),
            total: numberOf(totalItems),
          })}
        </Text>
        {totalItems > pageSize && (
          <>
            <Button
              variant="secondary"
              size="small"
              isDisabled={page === 1}
              onPress={event => {
                onPage(page - 1);
                keepFocus(event);
              }}
            >
              {t('list.page.previous')}
            </Button>
            <Button
              variant="secondary"
              size="small"
              isDisabled={to === totalItems}
              onPress={event => {
                onPage(page + 1);
                keepFocus(event);
              }}
            >
              {t('list.page.next')}
            </Button>
          </>
        )}
      </Flex>
    </nav>
  );
}

function Nothing(props: {
  query: { search: string };
  onQuery: OnQuery;
  texts: { noMatch?: (search: string) => string; none: string };
  noneAction?: ReactNode;
}) {
  const { query, onQuery, texts } = props;
  const { t } = useTranslationRef(pagesTranslationRef);
  if (query.search && texts.noMatch) {
    return (
      <EmptyState
        text={texts.noMatch(query.search)}
        action={
          <Button
            variant="secondary"
            onPress={() => onQuery({ search: '', page: 1 })}
          >
            {t('list.clear')}
          </Button>
        }
      />
    );
  }
  return <EmptyState text={texts.none} action={props.noneAction} />;
}
