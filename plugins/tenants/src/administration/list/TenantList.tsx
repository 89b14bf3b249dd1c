import {
  appLanguageApiRef,
  useApi,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import {
  Button,
  Cell,
  CellText,
  Column,
  Container,
  DialogTrigger,
  Flex,
  Header,
  Row,
  SearchField,
  Skeleton,
  Switch,
  TableBody,
  TableHeader,
  TableRoot,
  Text,
  VisuallyHidden,
} from '@backstage/ui';
import { RiAddLine } from '@remixicon/react';
import type {
  Membership,
  TenantSummary,
} from 'backstage-plugin-tenants-common';
import { useEffect, useRef, useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router-dom';
import useDebounce from 'react-use/esm/useDebounce';
import { rootRouteRef } from '../../routes';
import { tenantsTranslationRef } from '../../translation';
import { Failure } from '../Failure';
import { State } from '../State';
import { CreateTenantDialog } from './CreateTenantDialog';
import { type ListQuery, PAGE_SIZE, useTenantRows } from './useTenantRows';

const DEBOUNCE_MS = 300;

/** The tenants of the portal, as far as the user administers them. */
export function TenantList() {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [query, setQuery] = useListQuery();
  const { value: rows, error, loading, retry } = useTenantRows(query);
  const [isCreating, setCreating] = useState(false);
  const navigate = useNavigate();

  return (
    <>
      <Header
        title={t(rows?.of === 'own' ? 'list.ownTitle' : 'list.title')}
        customActions={
          rows?.of === 'all' && (
            <DialogTrigger isOpen={isCreating} onOpenChange={setCreating}>
              <Button iconStart={<RiAddLine aria-hidden />}>
                {t('list.create.open')}
              </Button>
              {isCreating && (
                <CreateTenantDialog
                  onClose={() => setCreating(false)}
                  onCreated={slug => navigate(slug)}
                />
              )}
            </DialogTrigger>
          )
        }
      />
      <Container>
        <Flex direction="column" gap="4" mb="6">
          <Flex align="end" gap="4" style={{ flexWrap: 'wrap' }}>
            <SearchInput
              search={query.search}
              onSearch={search => setQuery({ search, page: 1 }, 'replace')}
            />
            {rows?.of !== 'own' && (
              <Switch
                label={t('list.deleted')}
                isSelected={query.deleted}
                onChange={deleted => setQuery({ deleted, page: 1 })}
              />
            )}
          </Flex>
          <VisuallyHidden role="status">
            {loading || !rows
              ? ''
              : t('list.found', { count: rows.totalItems })}
          </VisuallyHidden>
          {error && !loading && (
            <Failure title={t('list.failed')} error={error} onRetry={retry} />
          )}
          {!rows && loading && <Skeleton width="100%" height={240} />}
          {rows && !error && rows.items.length > 0 && (
            <>
              <Rows rows={rows} isStale={loading} />
              <Pages
                page={query.page}
                totalItems={rows.totalItems}
                onPage={page => setQuery({ page })}
              />
            </>
          )}
          {rows && !error && rows.items.length === 0 && (
            <Nothing
              isOwn={rows.of === 'own'}
              isBeyond={rows.totalItems > 0}
              search={query.search}
              onFirst={() => setQuery({ page: 1 })}
              onClear={() => setQuery({ search: '', page: 1 })}
            />
          )}
        </Flex>
      </Container>
    </>
  );
}

/** What is shown is in the address, so that back, reload and links work. */
function useListQuery(): [
  ListQuery,
  (changes: Partial<ListQuery>, how?: 'push' | 'replace') => void,
] {
  const [params, setParams] = useSearchParams();
  const page = Number(params.get('page') ?? 1);
  const query = {
    search: params.get('search') ?? '',
    deleted: params.get('deleted') === 'true',
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
  };
  const setQuery = (changes: Partial<ListQuery>, how = 'push') => {
    const { search, deleted, page: newPage } = { ...query, ...changes };
    setParams(
      {
        ...(search && { search }),
        ...(deleted && { deleted: 'true' }),
        ...(newPage > 1 && { page: String(newPage) }),
      },
      { replace: how === 'replace' },
    );
  };
  return [query, setQuery];
}

/** Hands on what is typed once the typing pauses. */
function SearchInput(props: {
  search: string;
  onSearch: (search: string) => void;
}) {
  const { search, onSearch } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
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

function Rows(props: {
  rows: { items: (Membership | TenantSummary)[] };
  isStale: boolean;
}) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const href = useRouteRef(rootRouteRef)?.() ?? '';
  const { language } = useApi(appLanguageApiRef).getLanguage();
  const { items } = props.rows;
  const numbers = new Intl.NumberFormat(language);
  const dates = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });
  const columns = ['name', 'slug', 'state', 'entities', 'created'] as const;
  const shown = items.some(isSummary) ? columns : columns.slice(0, 2);

  const entitiesOf = ({ entities, max_entities: limit }: TenantSummary) =>
    limit === null
      ? t('list.entities.unlimited', { entities: numbers.format(entities) })
      : t('list.entities.ofLimit', {
          entities: numbers.format(entities),
          limit: numbers.format(limit),
        });

  return (
    <div style={{ overflowX: 'auto' }}>
      {/* On a narrow page it is scrolled, rather than cut off. */}
      <TableRoot
        aria-label={t('list.title')}
        stale={props.isStale}
        style={{ minWidth: shown.length > 2 ? 720 : undefined }}
      >
        <TableHeader>
          {shown.map(column => (
            <Column key={column} id={column} isRowHeader={column === 'name'}>
              {t(`list.column.${column}`)}
            </Column>
          ))}
        </TableHeader>
        <TableBody>
          {items.map(tenant => {
            const { tenant_slug: slug, tenant_name: name } = tenant;
            return (
              <Row key={slug} id={slug} href={`${href}/${slug}`}>
                <CellText title={name} />
                <CellText title={slug} />
                {isSummary(tenant) && (
                  <>
                    <Cell>
                      <State state={tenant.state ?? 'deleted'} />
                    </Cell>
                    <CellText title={entitiesOf(tenant)} />
                    <CellText
                      title={dates.format(new Date(tenant.created_at))}
                    />
                  </>
                )}
              </Row>
            );
          })}
        </TableBody>
      </TableRoot>
    </div>
  );
}

function isSummary(row: Membership | TenantSummary): row is TenantSummary {
  return 'tenant_id' in row;
}

function Pages(props: {
  page: number;
  totalItems: number;
  onPage: (page: number) => void;
}) {
  const { page, totalItems, onPage } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const from = (page - 1) * PAGE_SIZE + 1;
  const to = Math.min(page * PAGE_SIZE, totalItems);
  return (
    <nav aria-label={t('list.page.label')}>
      <Flex align="center" gap="3" style={{ flexWrap: 'wrap' }}>
        <Text color="secondary">
          {t('list.page.shown', {
            from: String(from),
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
  isOwn: boolean;
  isBeyond: boolean;
  search: string;
  onFirst: () => void;
  onClear: () => void;
}) {
  const { isOwn, isBeyond, search, onFirst, onClear } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  if (isBeyond) {
    return (
      <Flex direction="column" align="start" gap="3">
        <Text>{t('list.beyond')}</Text>
        <Button variant="secondary" onPress={onFirst}>
          {t('list.first')}
        </Button>
      </Flex>
    );
  }
  if (search) {
    return (
      <Flex direction="column" align="start" gap="3">
        <Text>{t('list.noMatch', { search })}</Text>
        <Button variant="secondary" onPress={onClear}>
          {t('list.clear')}
        </Button>
      </Flex>
    );
  }
  return <Text>{t(isOwn ? 'list.ownNone' : 'list.none')}</Text>;
}
