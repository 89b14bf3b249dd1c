import {
  identityApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Button, Container, Flex, Text } from '@backstage/ui';
import { Alert, Main, TextLink } from '@internal/pages';
import type { Membership, Page } from 'backstage-plugin-tenants-common';
import type { ReactNode } from 'react';
import useAsync from 'react-use/esm/useAsync';
import { tenantsTranslationRef } from '../translation';
import { useOpenOther } from './OpenTenantContext';

/** For a user who may not enter the tenant that the page names, or no tenant at all. */
export function NoTenantPage(props: {
  /** What the page sends as `X-Tenant-Slug`. */
  slug: string | undefined;
  /** The tenants that the user may enter; nothing where the hostname names the tenant. */
  own: Page<Membership> | undefined;
}) {
  const { slug, own } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  if (own && own.totalItems === 0) {
    return (
      <Notice title={t('openTenant.none.title')}>
        <Text as="p">{t('openTenant.none.text')}</Text>
      </Notice>
    );
  }
  return (
    <Notice title={t('openTenant.other.title')}>
      <Text as="p">
        {slug === undefined
          ? t('openTenant.other.unnamed')
          : t('openTenant.other.named', { slug })}
      </Text>
      <Text as="p">{t('openTenant.other.ask')}</Text>
      {own ? <OwnTenants own={own} /> : <PortalLink />}
    </Notice>
  );
}

/** Buttons that open tenants. */
export function OwnTenants({ own }: { own: Page<Membership> }) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { openOther, isNotKept } = useOpenOther(undefined);
  const more = own.totalItems - own.items.length;
  return (
    <Flex direction="column" gap="2">
      <Text as="p">{t('openTenant.other.choose')}</Text>
      {isNotKept && (
        <Alert
          role="alert"
          status="danger"
          icon
          title={t('openTenant.menu.notKept')}
        />
      )}
      <Flex
        gap="2"
        style={{ flexWrap: 'wrap', maxHeight: '40vh', overflowY: 'auto' }}
      >
        {own.items.map(({ tenant_slug, tenant_name }) => (
          <Button
            key={tenant_slug}
            variant="secondary"
            onPress={() => openOther(tenant_slug)}
          >
            {tenant_name}
          </Button>
        ))}
      </Flex>
      {more > 0 && (
        <Text as="p">
          {t('openTenant.other.more', { number: String(more) })}
        </Text>
      )}
    </Flex>
  );
}

/** The host below which the one of this page is. */
export function PortalLink() {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const { protocol, host } = window.location;
  const portal = host.slice(host.indexOf('.') + 1);
  return host.includes('.') ? (
    <Text as="p">
      <TextLink href={`${protocol}//${portal}/`}>
        {t('openTenant.other.portal', { host: portal })}
      </TextLink>
    </Text>
  ) : null;
}

/** A page in the place of the app, with who is signed in. */
export function Notice({
  title,
  children,
}: {
  title: string;
  children: ReactNode;
}) {
  const { t } = useTranslationRef(tenantsTranslationRef);
  const identityApi = useApi(identityApiRef);
  const { value: user } = useAsync(
    async () => (await identityApi.getBackstageIdentity()).userEntityRef,
    [identityApi],
  );
  return (
    <Container>
      <Main>
        <Flex direction="column" gap="4" mt="8" mb="8">
          <Text as="h1" variant="title-medium">
            {title}
          </Text>
          {children}
          {user && <Text as="p">{t('openTenant.signedInAs', { user })}</Text>}
          <div>
            <Button variant="secondary" onPress={() => identityApi.signOut()}>
              {t('openTenant.signOut')}
            </Button>
          </div>
        </Flex>
      </Main>
    </Container>
  );
}
