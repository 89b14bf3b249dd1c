import {
  BreadcrumbEntry,
  NotFoundErrorPage,
  useApi,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Button, Container, Flex, Text } from '@backstage/ui';
import {
  Alert,
  Moment,
  PageHeader,
  ReadFailure,
  UnreadPage,
  useTask,
} from '@internal/pages';
import type { Tenant } from 'backstage-plugin-tenants-common';
import { useEffect, useRef, useState } from 'react';
import { Route, Routes, useParams } from 'react-router-dom';
import { tenantsApiRef } from '../../api';
import {
  useOpenOther,
  useOpenTenant,
} from '../../openTenant/OpenTenantContext';
import { rootRouteRef } from '../../routes';
import { tenantsTranslationRef } from '../../translation';
import { ActivityTab } from '../activity/ActivityTab';
import { MembersTab } from '../members/MembersTab';
import { SharesTab } from '../shares/SharesTab';
import { SourcesTab } from '../sources/SourcesTab';
import { State } from '../State';
import { OverviewTab } from './OverviewTab';
import { usePolled } from './usePolled';
import {
  loadState,
  type TenantState,
  useTenant,
  type VisibleTenant,
} from './useTenant';

/** One tenant: what it is and does, who may enter it, and what feeds its catalog. */
export function TenantPage() {
  const { slug = '' } = useParams();
  // With a page of its own for each, nothing of one tenant shows in that of another.
  return <PageOf key={slug} slug={slug} />;
}

function PageOf({ slug }: { slug: string }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const listHref = useRouteRef(rootRouteRef)?.() ?? '';
  const read = useTenant(slug);
  const { value: tenant, retry } = read;
  const [notice, setNotice] = useState('');
  const [hasChanged, setChanged] = useState(false);
  return (
    <BreadcrumbEntry
      entry={{ label: tenant?.name ?? slug, href: `${listHref}/${slug}` }}
    >
      {tenant && !tenant.row?.deleted_at && (
        <ActiveTenant
          tenant={tenant}
          notice={notice}
          onNoticed={() => setNotice('')}
          onChanged={() => {
            setChanged(true);
            retry();
          }}
        />
      )}
      {tenant?.row?.deleted_at && (
        <DeletedTenant
          row={tenant.row}
          takesFocus={hasChanged}
          onRestored={() => {
            setNotice(t('tenant.deleted.done'));
            retry();
          }}
        />
      )}
      {!tenant && (
        <UnreadPage
          title={slug}
          state={read}
          failed={t('tenant.failed')}
          missing={{
            title: t('tenant.missing.title', { slug }),
            description: t('tenant.missing.description'),
            href: listHref,
            link: t('tenant.missing.list'),
          }}
        />
      )}
    </BreadcrumbEntry>
  );
}

/** Whether what is shown is about to change: something is to arrive, or to start. */
function isExpected({ status }: TenantState): boolean {
  return (
    ['starting', 'unassigned', 'stopped'].includes(status.state) ||
    (status.entities === 0 && status.state !== 'paused')
  );
}

const TABS = ['overview', 'members', 'sources', 'shares', 'activity'] as const;

function ActiveTenant(props: {
  tenant: VisibleTenant;
  notice: string;
  onNoticed: () => void;
  onChanged: () => void;
}) {
  const { tenant, notice, onNoticed, onChanged } = props;
  const { slug, name } = tenant;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const href = `${useRouteRef(rootRouteRef)?.() ?? ''}/${slug}`;
  const { '*': tab = '' } = useParams();
  const isSources = tab.startsWith('sources');
  // What an engine does with its sources changes at any time.
  const state = usePolled(
    () => loadState(tenantsApi, slug),
    [tenantsApi, slug],
    value => value !== undefined && (isSources || isExpected(value)),
  );
  return (
    <>
      <PageHeader
        title={name}
        metadata={[
          { label: t('tenant.slug'), value: slug },
          ...(state.value
            ? [
                {
                  label: t('tenant.state'),
                  value: (
                    <State
                      state={state.value.status.state}
                      errors={state.value.status.source_error_count}
                    />
                  ),
                },
              ]
            : []),
        ]}
        customActions={<OpenTenantButton slug={slug} />}
        tabs={TABS.map(id => ({
          id,
          label: t(`tenant.tabs.${id}`),
          href: id === 'overview' ? href : `${href}/${id}`,
        }))}
      />
      <Container>
        <Flex direction="column" gap="4">
          <ReadFailure title={t('tenant.engine.failed')} state={state} />
          <Routes>
            <Route
              path="/"
              element={
                <OverviewTab
                  tenant={tenant}
                  state={state}
                  notice={notice}
                  onNoticed={onNoticed}
                  onChanged={onChanged}
                />
              }
            />
            <Route path="/members/*" element={<MembersTab slug={slug} />} />
            <Route
              path="/sources/*"
              element={<SourcesTab slug={slug} state={state} />}
            />
            <Route path="/shares/*" element={<SharesTab slug={slug} />} />
            <Route path="/activity/*" element={<ActivityTab slug={slug} />} />
            <Route path="*" element={<NotFoundErrorPage />} />
          </Routes>
        </Flex>
      </Container>
    </>
  );
}

/** Leaves for the pages of a tenant, where that is not the one that is open. */
function OpenTenantButton({ slug }: { slug: string }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const open = useOpenTenant();
  const { openOther, isNotKept } = useOpenOther(open);
  if (!open?.enabled || open.tenant_slug === slug) {
    return null;
  }
  return (
    <>
      {isNotKept && <Text role="alert">{t('openTenant.menu.notKept')}</Text>}
      <Button variant="secondary" onPress={() => openOther(slug)}>
        {t('tenant.open')}
      </Button>
    </>
  );
}

/** Says that a tenant is deleted, and brings it back. */
function DeletedTenant(props: {
  row: Tenant;
  /** Where the button that deleted the tenant here had it. */
  takesFocus: boolean;
  onRestored: () => void;
}) {
  const { row, takesFocus, onRestored } = props;
  const { tenant_slug: slug, tenant_name: name, deleted_at } = row;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { isPending, notes, run } = useTask();
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (takesFocus) {
      button.current?.focus();
    }
  }, [takesFocus]);

  const restore = () =>
    run(t('tenant.deleted.failed'), async () => {
      await tenantsApi.restoreTenant(slug);
      onRestored();
    });

  return (
    <>
      <PageHeader
        title={name}
        metadata={[
          { label: t('tenant.slug'), value: slug },
          {
            label: t('tenant.state'),
            value: <State state="deleted" errors={null} />,
          },
          {
            label: t('tenant.deleted.since'),
            value: deleted_at && <Moment at={deleted_at} />,
          },
        ]}
      />
      <Container>
        <Flex direction="column" gap="4">
          <div role="status">
            <Alert
              status="warning"
              icon
              title={t('tenant.deleted.title')}
              description={t('tenant.deleted.text')}
              customActions={
                <Button
                  ref={button}
                  size="small"
                  isPending={isPending}
                  onPress={restore}
                >
                  {t('tenant.deleted.restore')}
                </Button>
              }
            />
          </div>
          {notes}
        </Flex>
      </Container>
    </>
  );
}
