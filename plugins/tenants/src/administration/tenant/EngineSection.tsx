import {
  useApi,
  useRouteRef,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Button, Text } from '@backstage/ui';
import { ActionButton, Moment, TextLink, useNumber } from '@internal/pages';
import { useState } from 'react';
import { tenantsApiRef } from '../../api';
import { DEFAULT_TENANT_SLUG } from '../../openTenant/tenantAddress';
import { rootRouteRef } from '../../routes';
import { tenantsTranslationRef } from '../../translation';
import { Facts } from '../Facts';
import { Part } from '../Part';
import { State } from '../State';
import type { Polled } from './usePolled';
import type { TenantState, VisibleTenant } from './useTenant';

/** What feeds the catalog of a tenant, how that goes, and what stops and starts it. */
export function EngineSection(props: {
  tenant: VisibleTenant;
  state: Polled<TenantState> & { value: TenantState };
}) {
  const { slug, name, row } = props.tenant;
  const { value, loading, retry } = props.state;
  const { status, at } = value;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const href = useRouteRef(rootRouteRef)?.() ?? '';
  const numberOf = useNumber();
  const [said, setSaid] = useState('');
  const change = status.state === 'paused' ? 'resume' : 'pause';
  const changeButton = row && slug !== DEFAULT_TENANT_SLUG && (
    <ActionButton
      key={change}
      open={t(`tenant.${change}.open`)}
      title={t(`tenant.${change}.title`, { name })}
      texts={[t(`tenant.${change}.text`)]}
      submit={t(`tenant.${change}.submit`)}
      failed={t(`tenant.${change}.failed`)}
      onSubmit={async () => {
        await tenantsApi[`${change}Engine`](slug);
        setSaid(t(`tenant.${change}.done`));
        retry();
      }}
    />
  );

  return (
    <Part
      level={3}
      isBoxed
      title={t('tenant.engine.title')}
      said={said}
      actions={
        <>
          {changeButton}
          <Button variant="tertiary" isPending={loading} onPress={retry}>
            {t('administration.refresh')}
          </Button>
        </>
      }
    >
      <State state={status.state} errors={status.source_error_count} />
      <Text>{t(`tenant.engine.words.${status.state}`)}</Text>
      <Facts
        facts={[
          [t('tenant.engine.entities'), numberOf(status.entities)],
          [t('tenant.engine.reason'), status.reason],
          [
            t('tenant.engine.lag'),
            status.lag_seconds === 0
              ? t('tenant.engine.lagNone')
              : status.lag_seconds &&
                t('tenant.engine.lagSeconds', { count: status.lag_seconds }),
          ],
          [
            t('tenant.engine.pausedAt'),
            status.paused_at && <Moment at={status.paused_at} />,
          ],
          [t('tenant.engine.pausedBy'), status.paused_by],
          [
            t('tenant.engine.lastRun'),
            status.last_full_run_at && <Moment at={status.last_full_run_at} />,
          ],
          [
            t('tenant.engine.lastError'),
            status.last_error && (
              <>
                {status.last_error}
                {status.last_error_at && (
                  <>
                    {', '}
                    <Moment at={status.last_error_at} />
                  </>
                )}
              </>
            ),
          ],
          [
            t('tenant.engine.sourceErrors'),
            status.source_error_count ? (
              <TextLink href={`${href}/${slug}/sources`}>
                {status.source_error_count}
              </TextLink>
            ) : null,
          ],
          [t('tenant.engine.faults'), status.faults || null],
          [t('tenant.engine.process'), status.process],
          [t('tenant.engine.asOf'), <Moment key="at" at={at} />],
        ]}
      />
    </Part>
  );
}
