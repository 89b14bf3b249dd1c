import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Box } from '@backstage/ui';
import { Alert, Loaded, Loading, useRead } from '@internal/pages';
import type {
  ReadCatalogConfig,
  TenantStatus,
} from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { Part } from '../Part';
import type { Polled } from '../tenant/usePolled';
import type { TenantState } from '../tenant/useTenant';
import { ConfigEditor } from './ConfigEditor';
import { locationsOf } from './configText';
import { EngineState } from './EngineState';
import { RegisteredLocations, useRegistered } from './RegisteredLocations';
import { SourceErrors } from './SourceErrors';

/** What feeds a tenant's catalog. */
export function SourcesTab(props: {
  slug: string;
  /** The status of the tenant, which the page asks for again and again. */
  state: Polled<TenantState>;
}) {
  const { slug, state } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);

  return (
    <Box pb="6">
      <Part title={t('sources.title')} explanation={t('sources.explanation')}>
        {state.value && renderSources(state.value.status)}
        {!state.value && !state.error && (
          <Loading label={t('sources.loading')} />
        )}
      </Part>
    </Box>
  );

  function renderSources(current: TenantStatus) {
    return current.state === 'catalog_plugin' ? (
      <>
        <Alert
          status="info"
          icon
          title={t('sources.catalogPlugin.title')}
          description={t('sources.catalogPlugin.description')}
        />
        <Registered slug={slug} />
      </>
    ) : (
      <EngineSources slug={slug} status={current} onSaved={state.retry} />
    );
  }
}

function Registered({ slug }: { slug: string }) {
  const registered = useRegistered(slug, true);
  return <RegisteredLocations {...{ slug, registered }} errors={[]} />;
}

/** The sources of an engine, with what is wrong with each. */
function EngineSources(props: {
  slug: string;
  status: TenantStatus;
  onSaved: () => void;
}) {
  const { slug, status, onSaved } = props;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const hasEngines = status.state !== 'unknown';
  const registered = useRegistered(slug, hasEngines);
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
      <EngineState status={status} />
      <SourceErrors
        slug={slug}
        errors={errors.filter(({ location }) => !shown.has(location))}
        withLocation
      />
      <Loaded
        state={config}
        failed={t('sources.failed')}
        label={t('sources.loading')}
      >
        {value =>
          value.configured_by === 'operator' ? (
            <Alert
              status="info"
              icon
              title={t('sources.operator.title')}
              description={t('sources.operator.description', { slug })}
            />
          ) : (
            <>
              {!hasEngines && (
                <Alert
                  status="info"
                  icon
                  title={t('sources.noEngines.title')}
                  description={t('sources.noEngines.description')}
                />
              )}
              <ConfigEditor
                key={slug}
                slug={slug}
                config={value}
                errors={errors}
                isReadOnly={!hasEngines}
                onSaved={newest => {
                  setSaved(newest);
                  onSaved();
                }}
              />
            </>
          )
        }
      </Loaded>
      {hasEngines && <RegisteredLocations {...{ slug, registered, errors }} />}
    </>
  );
}
