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
  Row,
  Switch,
  TableBody,
  TableHeader,
  TableRoot,
} from '@backstage/ui';
import { RiAddLine } from '@remixicon/react';
import {
  ListFrame,
  Moment,
  PageHeader,
  SearchInput,
  useListQuery,
} from '@internal/pages';
import type {
  Membership,
  TenantSummary,
} from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { rootRouteRef } from '../../routes';
import { tenantsTranslationRef } from '../../translation';
import styles from '../administration.module.css';
import { State } from '../State';
import { CreateTenantDialog } from './CreateTenantDialog';
import { PAGE_SIZE, useTenantRows } from './useTenantRows';

const CHOICES = { deleted: ['false', 'true'] } as const;

/** The tenants of the portal, as far as the user administers them. */
export function TenantList() {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [query, setQuery] = useListQuery(CHOICES);
  const isDeleted = query.deleted === 'true';
  const tenants = useTenantRows({ ...query, deleted: isDeleted });
  const rows = tenants.value;
  const [isCreating, setCreating] = useState(false);
  const navigate = useNavigate();

  return (
    <>
      <PageHeader
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
              onSearch={search => setQuery({ search }, 'replace')}
              placeholder={t('list.placeholder')}
            />
            {rows?.of !== 'own' && (
              <Switch
                label={t('list.deleted')}
                isSelected={isDeleted}
                onChange={deleted =>
                  setQuery({ deleted: deleted ? 'true' : 'false' })
                }
              />
            )}
          </Flex>
          <ListFrame
            state={tenants}
            query={query}
            onQuery={setQuery}
            pageSize={PAGE_SIZE}
            texts={{
              failed: t('list.failed'),
              found: count => t('list.found', { count }),
              noMatch: search => t('list.noMatch', { search }),
              none: t(rows?.of === 'own' ? 'list.ownNone' : 'list.none'),
            }}
          >
            {(items, isStale) => <Rows items={items} isStale={isStale} />}
          </ListFrame>
        </Flex>
      </Container>
    </>
  );
}

function Rows(props: {
  items: (Membership | TenantSummary)[];
  isStale: boolean;
}) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const href = useRouteRef(rootRouteRef)?.() ?? '';
  const { language } = useApi(appLanguageApiRef).getLanguage();
  const { items } = props;
  const numbers = new Intl.NumberFormat(language);
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
    <div className={styles.wide}>
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
