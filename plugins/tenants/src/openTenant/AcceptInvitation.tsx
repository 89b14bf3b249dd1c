import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Text } from '@backstage/ui';
import { Failure, SlowNote, statusOf, useTask } from '@internal/pages';
import type { Membership } from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsApiRef } from '../api';
import { tenantsTranslationRef } from '../translation';
import { Notice } from './NoTenantPage';
import { useOpenOther } from './OpenTenantContext';
import { DEFAULT_TENANT_SLUG } from './tenantAddress';

/** Whether this is the page to which the links of invitations lead. */
export function isInvitationPage(basePath: string): boolean {
  return window.location.pathname === `${basePath}invitation`;
}

/**
 * Accepts the invitation that the fragment of the address names. It stands in the place of the
 * app: the person may not be able to enter any tenant yet.
 */
export function AcceptInvitation() {
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { openOther, isNotKept } = useOpenOther(undefined);
  const { isPending, failure, run } = useTask();
  const [joined, setJoined] = useState<Membership>();

  const accept = () =>
    run(t('openTenant.invitation.failed'), async () => {
      setJoined(
        await tenantsApi.acceptInvitation(
          { token: window.location.hash.slice(1) },
          // Of no tenant that the page names: that one may refuse the person.
          { tenantSlug: DEFAULT_TENANT_SLUG },
        ),
      );
    });

  if (joined) {
    const { tenant_name: name, tenant_slug: slug } = joined;
    return (
      <Notice title={t('openTenant.invitation.joined', { name })}>
        <Text as="p" role="status">
          {t('openTenant.invitation.role', {
            role: t(`members.roles.${joined.role}`),
          })}
        </Text>
        {isNotKept && <Text role="alert">{t('openTenant.menu.notKept')}</Text>}
        <div>
          {/* The button that had the focus is gone. */}
          {/* eslint-disable-next-line jsx-a11y/no-autofocus */}
          <Button autoFocus onPress={() => openOther(slug)}>
            {t('openTenant.invitation.open', { name })}
          </Button>
        </div>
      </Notice>
    );
  }
  return (
    <Notice title={t('openTenant.invitation.title')}>
      <Text as="p">{t('openTenant.invitation.text')}</Text>
      <SlowNote isPending={isPending} />
      {failure && (
        <Failure
          {...failure}
          title={
            statusOf(failure.error) === 404
              ? t('openTenant.invitation.over')
              : failure.title
          }
        />
      )}
      <div>
        <Button isPending={isPending} onPress={accept}>
          {t('openTenant.invitation.accept')}
        </Button>
      </div>
    </Notice>
  );
}
