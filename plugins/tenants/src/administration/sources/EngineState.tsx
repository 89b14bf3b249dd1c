import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Text } from '@backstage/ui';
import { Alert, useExactTime } from '@internal/pages';
import type { TenantStatus } from 'backstage-plugin-tenants-common';
import { tenantsTranslationRef } from '../../translation';
import { COLORS } from '../State';

/** What becomes of the sources: the state of the engine, and how much it has brought. */
export function EngineState({ status }: { status: TenantStatus }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const exactly = useExactTime();
  const { state, reason, entities, faults, last_error, paused_by } = status;
  const shown = status.source_errors?.length ?? 0;
  const errors = status.source_error_count ?? shown;
  const lines = [
    reason && t('sources.state.reason', { reason }),
    state === 'paused' &&
      paused_by &&
      t('sources.state.paused_by', { by: paused_by }),
    faults && t('sources.state.faults', { count: faults }),
    errors > 0 && t('sources.state.errors', { count: errors }),
    errors > shown && t('sources.state.errorsShown', { shown: String(shown) }),
    last_error &&
      last_error !== reason &&
      t('sources.state.lastError', {
        at: status.last_error_at ? exactly(status.last_error_at) : '',
        error: last_error,
      }),
  ].filter(Boolean);
  return (
    <Alert
      role="status"
      status={state === 'running' && errors > 0 ? 'warning' : COLORS[state]}
      icon
      title={`${t(`administration.state.${state}`)} · ${t(
        'sources.state.entities',
        { count: entities },
      )}`}
      description={lines.map(line => (
        <Text as="p" variant="body-small" key={String(line)}>
          {line}
        </Text>
      ))}
    />
  );
}
