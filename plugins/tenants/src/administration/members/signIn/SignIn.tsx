import {
  configApiRef,
  discoveryApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Flex, Text } from '@backstage/ui';
import {
  ActionButton,
  Alert,
  ifThere,
  Loaded,
  Moment,
  useRead,
} from '@internal/pages';
import type { TenantSignIn } from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import useAsync from 'react-use/esm/useAsync';
import { tenantsApiRef } from '../../../api';
import { tenantsTranslationRef } from '../../../translation';
import { Part } from '../../Part';
import { Facts } from '../../Facts';
import { SignInButton } from './SignInButton';
import { secretText, TEXT_FIELDS, toTexts } from './signInTexts';

/** The OpenID provider by which the people of a tenant sign in. */
export function SignIn({ slug }: { slug: string }) {
  const tenantsApi = useApi(tenantsApiRef);
  const isOn = useApi(configApiRef).has('auth.providers.tenant');
  const { t } = useTranslationRef(tenantsTranslationRef);
  const read = useRead(
    async () => ({ provider: await tenantsApi.getSignIn(slug) }),
    [tenantsApi, slug],
  );
  const [announcement, setAnnouncement] = useState('');
  const provider = read.value?.provider;
  const onChanged = (text: string) => {
    setAnnouncement(text);
    read.retry();
  };
  return (
    <Part
      title={t('members.signIn.title')}
      explanation={t('members.signIn.explanation', { slug })}
      said={announcement}
    >
      {!isOn && (
        <Alert
          status="info"
          icon
          title={t('members.signIn.off.title')}
          description={t('members.signIn.off.description')}
        />
      )}
      <Loaded state={read} failed={t('members.signIn.failed')} height={80}>
        {() => (
          <>
            {provider ? (
              <Provider slug={slug} provider={provider} />
            ) : (
              <Text as="p">{t('members.signIn.none')}</Text>
            )}
            <Flex gap="2" style={{ flexWrap: 'wrap' }}>
              {isOn && (
                <SignInButton
                  slug={slug}
                  provider={provider}
                  redirectUrl={<RedirectUrl slug={slug} />}
                  onSaved={() => onChanged(t('members.signIn.dialog.done'))}
                />
              )}
              {provider && (
                <ActionButton
                  open={t('members.signIn.remove.open')}
                  title={t('members.signIn.remove.title')}
                  texts={[t('members.signIn.remove.text')]}
                  destructive
                  submit={t('members.signIn.remove.confirm')}
                  failed={t('members.signIn.remove.failed')}
                  onSubmit={async () => {
                    await ifThere(tenantsApi.removeSignIn(slug));
                    onChanged(t('members.signIn.remove.done'));
                  }}
                />
              )}
            </Flex>
          </>
        )}
      </Loaded>
    </Part>
  );
}

function Provider(props: { slug: string; provider: TenantSignIn }) {
  const { slug, provider } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const texts = { ...toTexts(provider), client_secret: secretText(provider) };
  return (
    <Facts
      facts={[
        ...TEXT_FIELDS.map((field): [string, string | undefined] => [
          t(`members.signIn.fields.${field}`),
          texts[field].replaceAll('\n', ', ') || undefined,
        ]),
        [
          t('members.signIn.fields.auto_join'),
          provider.auto_join
            ? t(`members.roles.${provider.auto_join}`)
            : t('members.signIn.nobodyJoins'),
        ],
        [
          t('members.signIn.redirectUrl'),
          <RedirectUrl key="url" slug={slug} />,
        ],
        [
          t('members.signIn.changed'),
          <>
            <Moment at={provider.updated_at} />{' '}
            {t('members.added', { by: provider.updated_by })}
          </>,
        ],
      ]}
    />
  );
}

/** What the provider has to lead back to: another one for each tenant. */
function RedirectUrl({ slug }: { slug: string }) {
  const configured = useApi(configApiRef).getOptionalString(
    'auth.providers.tenant.callbackUrl',
  );
  const discoveryApi = useApi(discoveryApiRef);
  const { value: base } = useAsync(
    async () =>
      configured ??
      `${await discoveryApi.getBaseUrl('auth')}/tenant/handler/frame`,
    [configured, discoveryApi],
  );
  return <>{base && `${base}?tenant=${slug}`}</>;
}
