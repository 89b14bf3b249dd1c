import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { HeaderMetadataStatus } from '@backstage/ui';
import type { TenantStatus } from 'backstage-plugin-tenants-common';
import { tenantsTranslationRef } from '../translation';

const COLORS = {
  deleted: 'danger',
  catalog_plugin: 'success',
  code: 'success',
  paused: 'warning',
  unassigned: 'warning',
  stopped: 'warning',
  starting: 'info',
  running: 'success',
  failed: 'danger',
  unknown: 'info',
} as const;

/** What feeds a tenant, in words and with a color. */
export function State({ state }: { state: TenantStatus['state'] | 'deleted' }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  return (
    <HeaderMetadataStatus
      label={t(`administration.state.${state}`)}
      color={COLORS[state]}
    />
  );
}
