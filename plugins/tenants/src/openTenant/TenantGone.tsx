import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button } from '@backstage/ui';
import { ActionDialog, Alert, ReadFailure, useRead } from '@internal/pages';
import type { OpenTenant } from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsApiRef } from '../api';
import { tenantsTranslationRef } from '../translation';
import { isRefusal } from './decideTenant';
import { OwnTenants, PortalLink } from './NoTenantPage';

/**
 * Says over a page that the portal refuses its tenant by now, and offers the others. The page
 * stays: what was typed in it is not lost before its user has read this.
 */
export function TenantGone(props: {
  tenant: OpenTenant;
  /** The portal no longer refuses it. */
  onBack(): void;
}) {
  const { tenant, onBack } = props;
  const name = tenant.tenant_name;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const tenantsApi = useApi(tenantsApiRef);
  const [isOpen, setOpen] = useState(true);
  const check = async () => {
    try {
      await tenantsApi.getOpenTenant();
    } catch (error) {
      throw isRefusal(error) ? new Error(t('openTenant.gone.refused')) : error;
    }
  };
  return (
    <>
      <Alert
        role="alert"
        status="danger"
        icon
        title={t('openTenant.gone.banner', { name })}
        customActions={
          <Button size="small" onPress={() => setOpen(true)}>
            {t('openTenant.gone.leave')}
          </Button>
        }
        style={{ position: 'sticky', top: 0, zIndex: 1400, borderRadius: 0 }}
      />
      {isOpen && (
        <ActionDialog
          title={t('openTenant.gone.title', { name })}
          texts={[t('openTenant.gone.text'), t('openTenant.gone.keep')]}
          submit={t('openTenant.gone.check')}
          cancel={t('openTenant.gone.stay')}
          failed={t('openTenant.gone.stillClosed')}
          onSubmit={check}
          onDone={onBack}
          onClose={() => setOpen(false)}
        >
          <Others />
        </ActionDialog>
      )}
    </>
  );
}

/** The other tenants of the user. */
function Others() {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const tenantsApi = useApi(tenantsApiRef);
  // Refused too where a hostname names the tenant: the portal's own host has them.
  const read = useRead(
    () => tenantsApi.listOwnTenants({ limit: 100 }, { tenantSlug: 'default' }),
    [tenantsApi],
  );
  const { value: own, error } = read;
  if (isRefusal(error)) {
    return <PortalLink />;
  }
  return (
    <>
      {own && own.totalItems > 0 && <OwnTenants own={own} />}
      <ReadFailure title={t('openTenant.gone.failed')} state={read} />
    </>
  );
}
