import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { HeaderMetadataStatus } from '@backstage/ui';
import type { TenantStatus } from 'backstage-plugin-tenants-common';
import { tenantsTranslationRef } from '../translation';

/** How good or bad a state is. */
const COLORS = {
  deleted: 'danger',
  catalog_plugin: 'success',
  paused: 'warning',
  unassigned: 'warning',
  stopped: 'warning',
  starting: 'info',
  running: 'success',
  failed: 'danger',
  unknown: 'info',
} as const;

/** What feeds a tenant, in words and with a color. */
export function State(props: {
  state: TenantStatus['state'] | 'deleted';
  /** How many locations and entities have errors. */
  errors: number | null;
}) {
  const { state, errors } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const label = t(`administration.state.${state}`);
  return errors ? (
    <HeaderMetadataStatus
      label={`${label}, ${t('administration.errors', { count: errors })}`}
      color={COLORS[state] === 'success' ? 'warning' : COLORS[state]}
    />
  ) : (
    <HeaderMetadataStatus label={label} color={COLORS[state]} />
  );
}
