import {
  BreadcrumbEntry,
  NotFoundErrorPage,
  useApi,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Button, Container, Flex } from '@backstage/ui';
import {
  Alert,
  Moment,
  PageHeader,
  ReadFailure,
  UnreadPage,
  useFocusPassedOn,
  useTask,
} from '@internal/pages';
import type { Tenant } from 'backstage-plugin-tenants-common';
import { Route, Routes, useParams } from 'react-router-dom';
import { tenantsApiRef } from '../../api';
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
  return (
    <BreadcrumbEntry
      entry={{ label: tenant?.name ?? slug, href: `${listHref}/${slug}` }}
    >
      {tenant && !tenant.row?.deleted_at && (
        <ActiveTenant tenant={tenant} onChanged={retry} />
      )}
      {tenant?.row?.deleted_at && (
        <DeletedTenant row={tenant.row} onRestored={retry} />
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

function ActiveTenant(props: { tenant: VisibleTenant; onChanged: () => void }) {
  const { tenant, onChanged } = props;
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
                  onChanged={onChanged}
                />
              }
            />
            <Route path="/members/*" element={<MembersTab slug={slug} />} />
            <Route
              path="/sources/*"
              element={<SourcesTab tenant={tenant} state={state} />}
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

/** Says that a tenant is deleted, and brings it back. */
function DeletedTenant(props: { row: Tenant; onRestored: () => void }) {
  const { row, onRestored } = props;
  const { tenant_slug: slug, tenant_name: name, deleted_at } = row;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { isPending, notes, run } = useTask();
  // The button goes once the tenant is restored.
  const room = useFocusPassedOn<HTMLDivElement>();

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
          <div role="status" ref={room}>
            <Alert
              status="warning"
              icon
              title={t('tenant.deleted.title')}
              description={t('tenant.deleted.text')}
              customActions={
                <Button size="small" isPending={isPending} onPress={restore}>
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
