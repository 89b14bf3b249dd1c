import {
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
  Flex,
  Row,
  Select,
  TableBody,
  TableHeader,
  TableRoot,
  Text,
} from '@backstage/ui';
import { RiAddLine } from '@remixicon/react';
import {
  ifThere,
  ListFrame,
  Moment,
  PageHeader,
  SearchInput,
  type SelectedAction,
  SelectedActions,
  useListQuery,
  useNumber,
  useSelection,
} from '@internal/pages';
import type {
  Membership,
  TenantSummary,
} from 'backstage-plugin-tenants-common';
import { type ComponentProps, useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { tenantsApiRef } from '../../api';
import { rootRouteRef } from '../../routes';
import { tenantsTranslationRef } from '../../translation';
import styles from '../administration.module.css';
import { State } from '../State';
import { CreateTenantDialog } from './CreateTenantDialog';
import {
  CHOICES,
  PAGE_SIZE,
  useReadsAllTenants,
  useTenantRows,
} from './useTenantRows';

/** The tenants of the portal, as far as the user administers them. */
export function TenantList() {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [query, setQuery] = useListQuery(CHOICES);
  const tenants = useTenantRows(query);
  const areAll = useReadsAllTenants();
  const [isCreating, setCreating] = useState(false);
  const navigate = useNavigate();

  const createButton = areAll && (
    <Button
      iconStart={<RiAddLine aria-hidden />}
      onPress={() => setCreating(true)}
    >
      {t('list.create.open')}
    </Button>
  );
  return (
    <>
      <PageHeader
        title={t(areAll ? 'list.title' : 'list.ownTitle')}
        customActions={createButton}
      />
      {isCreating && (
        <CreateTenantDialog
          onClose={() => setCreating(false)}
          onTried={tenants.retry}
          onCreated={slug => navigate(slug)}
        />
      )}
      <Container>
        <Flex direction="column" gap="4" mb="6">
          <Flex align="end" gap="4" style={{ flexWrap: 'wrap' }}>
            <SearchInput
              search={query.search}
              onSearch={search => setQuery({ search }, 'replace')}
              placeholder={t('list.placeholder')}
            />
            {areAll &&
              (['state', 'order'] as const).map(choice => (
                <Select
                  key={choice}
                  label={t(`list.${choice}.label`)}
                  options={CHOICES[choice].map(id => ({
                    id,
                    label: t(`list.${choice}.${id}` as 'list.state.active'),
                  }))}
                  value={query[choice]}
                  onChange={id => setQuery({ [choice]: id ?? undefined })}
                />
              ))}
          </Flex>
          {areAll && query.state === 'with_errors' && (
            <Text as="p" color="secondary">
              {t('list.searchesErrors')}
            </Text>
          )}
          <ListFrame
            state={tenants}
            query={query}
            onQuery={setQuery}
            pageSize={PAGE_SIZE}
            texts={{
              failed: t('list.failed'),
              found: count => t('list.found', { count }),
              noMatch: search => t('list.noMatch', { search }),
              none: noneText(),
            }}
            noneAction={
              query.state === 'active' ? (
                createButton
              ) : (
                <Button
                  variant="secondary"
                  onPress={() => setQuery({ state: 'active' })}
                >
                  {t('list.showActive')}
                </Button>
              )
            }
          >
            {(items, isStale) =>
              items.every(isSummary) ? (
                <Summaries
                  items={items}
                  isStale={isStale}
                  onChanged={tenants.retry}
                />
              ) : (
                <Rows items={items} isStale={isStale} />
              )
            }
          </ListFrame>
        </Flex>
      </Container>
    </>
  );

  function noneText() {
    if (!areAll) {
      return t('list.ownNone');
    }
    return t(query.state === 'active' ? 'list.none' : 'list.noneInState');
  }
}

/** The tenants for an administrator of all, who may do something with several at once. */
function Summaries(props: {
  items: TenantSummary[];
  isStale: boolean;
  onChanged: () => void;
}) {
  const { items, isStale, onChanged } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const tenantsApi = useApi(tenantsApiRef);
  const selection = useSelection(items, ({ tenant_slug: slug }) => slug);
  const { chosen } = selection;
  const hasDeleted = chosen.some(({ state }) => state === null);
  const hasActive = chosen.some(({ state }) => state !== null);

  const actionOf = (
    name: 'pause' | 'resume' | 'delete' | 'restore',
    does: (slug: string) => Promise<unknown>,
  ): SelectedAction<TenantSummary> => ({
    open: t(`list.several.${name}.open`),
    title: t(`list.several.${name}.title`, { count: chosen.length }),
    does: ({ tenant_slug }) => does(tenant_slug),
  });
  const ofActive = [
    actionOf('pause', slug => tenantsApi.pauseEngine(slug)),
    actionOf('resume', slug => tenantsApi.resumeEngine(slug)),
    {
      ...actionOf('delete', slug => ifThere(tenantsApi.deleteTenant(slug))),
      destructive: true,
      typed: {
        label: t('list.several.delete.typed', { count: chosen.length }),
        value: String(chosen.length),
      },
    },
  ];
  const ofDeleted = [
    actionOf('restore', slug => tenantsApi.restoreTenant(slug)),
  ];
  return (
    <Flex direction="column" gap="3">
      <SelectedActions
        selection={selection}
        nameOf={tenant => tenant.tenant_name}
        actions={[
          ...(hasDeleted ? [] : ofActive),
          ...(hasActive ? [] : ofDeleted),
        ]}
        onDone={onChanged}
      />
      <Rows
        items={items}
        isStale={isStale}
        chosen={selection.ids}
        onChoose={keys =>
          keys === 'all'
            ? selection.choose(items)
            : selection.chooseIds([...keys].map(String))
        }
      />
    </Flex>
  );
}

function Rows(props: {
  items: (Membership | TenantSummary)[];
  isStale: boolean;
  chosen?: ReadonlySet<string>;
  onChoose?: ComponentProps<typeof TableRoot>['onSelectionChange'];
}) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const href = useRouteRef(rootRouteRef)?.() ?? '';
  const { items } = props;
  const numberOf = useNumber();
  const columns = ['name', 'slug', 'state', 'entities', 'created'] as const;
  const shown = items.some(isSummary) ? columns : columns.slice(0, 2);

  const entitiesOf = ({ entities, max_entities: limit }: TenantSummary) =>
    limit === null
      ? t('list.entities.unlimited', { entities: numberOf(entities) })
      : t('list.entities.ofLimit', {
          entities: numberOf(entities),
          limit: numberOf(limit),
        });

  return (
    <div className={styles.wide}>
      <TableRoot
        aria-label={t('list.title')}
        stale={props.isStale}
        selectionMode={props.onChoose ? 'multiple' : 'none'}
        selectionBehavior="toggle"
        selectedKeys={props.chosen}
        onSelectionChange={props.onChoose}
        style={{ minWidth: shown.length > 2 ? 900 : undefined }}
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
                      <State
                        state={tenant.state ?? 'deleted'}
                        errors={tenant.state && tenant.source_error_count}
                      />
                    </Cell>
                    <CellText title={entitiesOf(tenant)} />
                    <Cell>
                      <Moment at={tenant.created_at} brief />
                    </Cell>
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
