import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  Button,
  Dialog,
  DialogBody,
  DialogFooter,
  DialogHeader,
  Flex,
  Text,
} from '@backstage/ui';
import { Alert, ReadFailure, useRead, useTask } from '@internal/pages';
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
  const [isOpen, setOpen] = useState(true);
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
      <Dialog isOpen={isOpen} onOpenChange={setOpen}>
        <DialogHeader>{t('openTenant.gone.title', { name })}</DialogHeader>
        <Others onBack={onBack} onStay={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Others({ onBack, onStay }: { onBack(): void; onStay(): void }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const tenantsApi = useApi(tenantsApiRef);
  const { isPending, failure, run } = useTask();
  // Refused too where a hostname names the tenant: the portal's own host has them.
  const read = useRead(
    () => tenantsApi.listOwnTenants({ limit: 100 }, { tenantSlug: 'default' }),
    [tenantsApi],
  );
  const { value: own, error } = read;
  const check = () =>
    run('', async () => {
      await tenantsApi.getOpenTenant();
      onBack();
    });
  return (
    <>
      <DialogBody>
        <Flex direction="column" gap="3">
          <Text as="p">{t('openTenant.gone.text')}</Text>
          <Text as="p">{t('openTenant.gone.keep')}</Text>
          {own && own.totalItems > 0 && <OwnTenants own={own} />}
          {isRefusal(error) ? (
            <PortalLink />
          ) : (
            <ReadFailure title={t('openTenant.gone.failed')} state={read} />
          )}
          <div role="status">
            {failure && (
              <Text as="p">
                {isRefusal(failure.error)
                  ? t('openTenant.gone.stillRefused')
                  : t('openTenant.gone.checkFailed')}
              </Text>
            )}
          </div>
        </Flex>
      </DialogBody>
      <DialogFooter>
        <Button variant="secondary" isPending={isPending} onPress={check}>
          {t('openTenant.gone.check')}
        </Button>
        <Button variant="primary" onPress={onStay}>
          {t('openTenant.gone.stay')}
        </Button>
      </DialogFooter>
    </>
  );
}
