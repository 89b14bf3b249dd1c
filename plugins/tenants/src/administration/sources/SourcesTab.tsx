import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Box, Text } from '@backstage/ui';
import { Alert, Loaded, Loading, useRead } from '@internal/pages';
import type { ReadCatalogConfig } from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { Part } from '../Part';
import { EngineSection } from '../tenant/EngineSection';
import type { Polled } from '../tenant/usePolled';
import type { TenantState, VisibleTenant } from '../tenant/useTenant';
import { ConfigEditor } from './ConfigEditor';
import { locationsOf } from './configText';
import { RegisteredLocations, useRegistered } from './RegisteredLocations';
import { SourceErrors } from './SourceErrors';

/** What feeds a tenant's catalog. */
export function SourcesTab(props: {
  tenant: VisibleTenant;
  /** The status of the tenant, which the page asks for again and again. */
  state: Polled<TenantState>;
}) {
  const { tenant, state } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);

  return (
    <Box pb="6">
      <Part title={t('sources.title')} explanation={t('sources.explanation')}>
        {state.value && renderSources(state.value)}
        {!state.value && !state.error && <Loading />}
      </Part>
    </Box>
  );

  function renderSources(value: TenantState) {
    const ofEngine = { tenant, state: { ...state, value } };
    switch (value.status.state) {
      case 'catalog_plugin':
        return (
          <>
            <Alert
              status="info"
              icon
              title={t('sources.catalogPlugin.title')}
              description={t('sources.catalogPlugin.description')}
            />
            <Registered slug={tenant.slug} />
          </>
        );
      case 'unknown':
        return <EngineSection {...ofEngine} />;
      default:
        return <EngineSources {...ofEngine} />;
    }
  }
}

function Registered({ slug }: { slug: string }) {
  const registered = useRegistered(slug);
  return <RegisteredLocations {...{ slug, registered }} errors={[]} />;
}

/** The sources of an engine, with what is wrong with each. */
function EngineSources(props: {
  tenant: VisibleTenant;
  state: Polled<TenantState> & { value: TenantState };
}) {
  const { tenant, state } = props;
  const { slug } = tenant;
  const { status } = state.value;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const registered = useRegistered(slug);
  const config = useRead(
    () => tenantsApi.getCatalogConfig(slug),
    [tenantsApi, slug],
  );
  const [saved, setSaved] = useState<ReadCatalogConfig>();
  const errors = status.source_errors ?? [];
  const shown = new Set(
    [
      ...locationsOf(saved ?? config.value ?? {}),
      ...(registered.value ?? []),
    ].map(({ target }) => target),
  );
  return (
    <>
      <EngineSection tenant={tenant} state={state} />
      {(status.source_error_count ?? 0) > errors.length && (
        <Text as="p" color="secondary">
          {t('sources.errors.shown', { shown: String(errors.length) })}
        </Text>
      )}
      <SourceErrors
        slug={slug}
        errors={errors.filter(({ location }) => !shown.has(location))}
        withLocation
      />
      <Loaded state={config} failed={t('sources.failed')}>
        {value =>
          value.configured_by === 'operator' ? (
            <Alert
              status="info"
              icon
              title={t('sources.operator.title')}
              description={t('sources.operator.description', { slug })}
            />
          ) : (
            <ConfigEditor
              key={slug}
              slug={slug}
              config={value}
              errors={errors}
              onSaved={newest => {
                setSaved(newest);
                state.retry();
              }}
            />
          )
        }
      </Loaded>
      <RegisteredLocations {...{ slug, registered, errors }} />
    </>
  );
}
