import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Text } from '@backstage/ui';
import { Failure, SlowNote, statusOf, useTask } from '@internal/pages';
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
 * Accepts the invitation that the fragment of the address names, and opens its tenant. It stands in
 * the place of the app: the person may not be able to enter any tenant yet.
 */
export function AcceptInvitation() {
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { openOther, isNotKept } = useOpenOther(undefined);
  const { isPending, failure, run } = useTask();

  const accept = () =>
    run(t('openTenant.invitation.failed'), async () => {
      const { tenant_slug: slug } = await tenantsApi.acceptInvitation(
        { token: window.location.hash.slice(1) },
        // Of no tenant that the page names: that one may refuse the person.
        { tenantSlug: DEFAULT_TENANT_SLUG },
      );
      openOther(slug);
    });

  return (
    <Notice title={t('openTenant.invitation.title')}>
      <Text as="p">{t('openTenant.invitation.text')}</Text>
      <SlowNote isPending={isPending} />
      {isNotKept && <Text role="alert">{t('openTenant.menu.notKept')}</Text>}
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
