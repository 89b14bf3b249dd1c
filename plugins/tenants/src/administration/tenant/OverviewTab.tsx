import {
  useApi,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { ButtonLink, Flex, Text } from '@backstage/ui';
import { ActionButton, Alert, ifThere, Loading } from '@internal/pages';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { DEFAULT_TENANT_SLUG } from '../../openTenant/tenantAddress';
import { rootRouteRef } from '../../routes';
import { tenantsTranslationRef } from '../../translation';
import { Part } from '../Part';
import { EngineSection } from './EngineSection';
import { POLL_MS, type Polled } from './usePolled';
import { UsageSection } from './UsageSection';
import { UseSection } from './UseSection';
import type { TenantState, VisibleTenant } from './useTenant';

/** What a tenant is, what it holds, and what feeds it. */
export function OverviewTab(props: {
  tenant: VisibleTenant;
  state: Polled<TenantState>;
  /** After the row of the tenant has changed. */
  onChanged: () => void;
}) {
  const { tenant, state, onChanged } = props;
  const { value, error, loading, retry } = state;
  return (
    <Flex direction="column" gap="4" mb="6">
      {!value && loading && !error && <Loading />}
      {value && <FirstEntities tenant={tenant} state={value} />}
      {value && <EngineSection tenant={tenant} state={{ ...state, value }} />}
      <UseSection
        tenant={tenant}
        times={state.times}
        onSaved={() => {
          onChanged();
          retry();
        }}
      />
      <UsageSection slug={tenant.slug} />
      {tenant.row && <DeleteSection row={tenant.row} onDeleted={onChanged} />}
    </Flex>
  );
}

/** What to do while a tenant is empty; and when the first entities are there, that they are. */
function FirstEntities(props: { tenant: VisibleTenant; state: TenantState }) {
  const { status } = props.state;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const href = `${useRouteRef(rootRouteRef)?.() ?? ''}/${props.tenant.slug}`;
  const [wasEmpty] = useState(status.entities === 0);
  const words = status.state === 'paused' ? 'paused' : 'engine';
  const errors = status.source_error_count ?? 0;
  return (
    <div role="status">
      {wasEmpty && status.entities > 0 && (
        <Alert
          status="success"
          icon
          title={t('tenant.next.arrived', { count: status.entities })}
        />
      )}
      {status.entities === 0 && (
        <Alert
          status="info"
          icon
          title={t('tenant.next.title')}
          description={
            errors > 0
              ? t('administration.errors', { count: errors })
              : t(`tenant.next.${words}`, { seconds: String(POLL_MS / 1000) })
          }
          customActions={
            <Flex gap="2" style={{ flexWrap: 'wrap' }}>
              <ButtonLink
                size="small"
                variant="secondary"
                href={`${href}/members`}
              >
                {t('tenant.next.members')}
              </ButtonLink>
              {status.state !== 'catalog_plugin' && (
                <ButtonLink size="small" href={`${href}/sources`}>
                  {t(
                    errors > 0 ? 'tenant.tabs.sources' : 'tenant.next.sources',
                  )}
                </ButtonLink>
              )}
            </Flex>
          }
        />
      )}
    </div>
  );
}

function DeleteSection(props: {
  row: NonNullable<VisibleTenant['row']>;
  onDeleted: () => void;
}) {
  const { row, onDeleted } = props;
  const { tenant_slug: slug, tenant_name: name, entity_ttl_days: days } = row;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const isDefault = slug === DEFAULT_TENANT_SLUG;
  return (
    <Part
      level={3}
      isBoxed
      title={t('tenant.remove.heading')}
      actions={
        !isDefault && (
          <ActionButton
            open={t('tenant.remove.open')}
            title={t('tenant.remove.title', { name })}
            texts={[
              t('tenant.remove.now'),
              days === null
                ? t('tenant.remove.keptForever')
                : t('tenant.remove.kept', { count: days }),
            ]}
            typed={{
              // Not the name, which may have spaces that nobody sees.
              label: t('tenant.remove.typed', { value: slug }),
              value: slug,
            }}
            submit={t('tenant.remove.submit')}
            destructive
            failed={t('tenant.remove.failed')}
            onSubmit={async () => {
              await ifThere(tenantsApi.deleteTenant(slug));
              onDeleted();
            }}
          />
        )
      }
    >
      <Text>{t(`tenant.remove.${isDefault ? 'default' : 'hint'}`)}</Text>
    </Part>
  );
}
