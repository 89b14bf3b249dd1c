import { Progress, UserIdentity } from '@backstage/core-components';
import {
  configApiRef,
  type IdentityApi,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Button, Card, CardBody, Flex, Text } from '@backstage/ui';
import {
  Alert,
  Failure,
  Main,
  messageOf,
  statusOf,
  useFailureText,
  useIsSlow,
} from '@internal/pages';
import { useEffect, useId, useState } from 'react';
import { portalTranslationRef } from '../translation';
import { isOpenId, type SignInProvider, useSignInProviders } from './providers';

/** What is going on: the provider that signs in now, or what the last one ended with. */
type State =
  | { resuming: true }
  | { pending?: SignInProvider['id']; error?: Error; resumeError?: Error };

/** Asks who one is, unless a session of before goes on. */
export function SignInPage({
  onSignInSuccess,
}: {
  onSignInSuccess: (identityApi: IdentityApi) => void;
}) {
  const title = useApi(configApiRef).getOptionalString('app.title');
  const { t } = useTranslationRef(portalTranslationRef);
  const providers = useSignInProviders();
  const [state, setState] = useState<State>({ resuming: true });

  const isResuming = 'resuming' in state;
  useEffect(() => {
    if (!isResuming) {
      return undefined;
    }
    let isOver = false;
    const unlessOver =
      <T,>(act: (result: T) => void) =>
      (result: T) =>
        isOver ? undefined : act(result);
    resumeSession(providers).then(
      unlessOver(identity =>
        identity ? onSignInSuccess(identity) : setState({}),
      ),
      unlessOver((resumeError: Error) => setState({ resumeError })),
    );
    return () => {
      isOver = true;
    };
  }, [isResuming, providers, onSignInSuccess]);

  if (isResuming) {
    return <Resuming />;
  }

  const signIn = async (provider: SignInProvider) => {
    setState({ pending: provider.id });
    try {
      const identity = await openSession(provider, { instantPopup: true });
      if (!identity) {
        throw new Error(`${provider.id} is not configured for signing in`);
      }
      onSignInSuccess(identity);
    } catch (error) {
      setState({ error: error as Error });
    }
  };

  const guests = providers.filter(({ id }) => !isOpenId(id));
  const buttons = (of: SignInProvider[]) =>
    of.map(provider => (
      <ProviderButton
        key={provider.id}
        id={provider.id}
        isPending={state.pending === provider.id}
        // Disabled, the own one would lose the focus.
        isDisabled={![undefined, provider.id].includes(state.pending)}
        onPress={() => signIn(provider)}
      />
    ));
  return (
    <Flex
      direction="column"
      align="center"
      justify="center"
      p="4"
      style={{ minHeight: '100dvh', boxSizing: 'border-box' }}
    >
      <div style={{ width: '100%', maxWidth: '26rem' }}>
        <Main>
          <Card>
            <CardBody>
              <Flex direction="column" gap="4" p="2">
                <Flex direction="column" gap="1">
                  <Text as="h1" variant="title-small" weight="bold">
                    {title ?? t('signIn.title')}
                  </Text>
                  {title && (
                    <Text as="p" color="secondary">
                      {t('signIn.title')}
                    </Text>
                  )}
                </Flex>
                {providers.length === 0 && (
                  <Alert
                    status="warning"
                    icon
                    title={t('signIn.providers.none')}
                    description={t('signIn.providers.noneHint')}
                  />
                )}
                {state.error && (
                  <Failed title={t('signIn.failed')} error={state.error} />
                )}
                {state.resumeError && (
                  <Failed
                    title={t('signIn.notResumed')}
                    error={state.resumeError}
                    onRetry={() => setState({ resuming: true })}
                  />
                )}
                {buttons(providers.filter(({ id }) => isOpenId(id)))}
                {guests.length > 0 && (
                  <>
                    <Text as="p" variant="body-medium">
                      {t('signIn.guests.title')}
                    </Text>
                    {buttons(guests)}
                  </>
                )}
              </Flex>
            </CardBody>
          </Card>
        </Main>
      </div>
    </Flex>
  );
}

/** In the place of the portal, until it is known who somebody is. */
function Resuming() {
  const { t } = useTranslationRef(portalTranslationRef);
  const isSlow = useIsSlow(true);
  return (
    <>
      <Progress />
      <Flex role="status" justify="center" p="4">
        {isSlow && <Text as="p">{t('signIn.slow')}</Text>}
      </Flex>
    </>
  );
}

function ProviderButton({
  id,
  ...props
}: {
  id: SignInProvider['id'];
  isPending: boolean;
  isDisabled: boolean;
  onPress: () => void;
}) {
  const { t } = useTranslationRef(portalTranslationRef);
  const organization =
    useApi(configApiRef).getOptionalString('organization.name');
  const key = useId();
  if (id === 'tenant') {
    return (
      <Button {...props} size="medium">
        {t('signIn.tenant')}
      </Button>
    );
  }
  if (id === 'oidc') {
    return (
      <Button {...props} size="medium">
        {organization ? t('signIn.oidcOf', { organization }) : t('signIn.oidc')}
      </Button>
    );
  }
  return (
    <Button
      {...props}
      variant="secondary"
      aria-labelledby={`${key}-name`}
      aria-describedby={`${key}-description`}
      style={{ height: 'auto', padding: 'var(--bui-space-3)' }}
    >
      <Flex direction="column" align="center" gap="0.5">
        <Text id={`${key}-name`} weight="bold">
          {t(`signIn.guests.${id}.name`)}
        </Text>
        <Text id={`${key}-description`} variant="body-small" color="secondary">
          {t(`signIn.guests.${id}.description`)}
        </Text>
      </Flex>
    </Button>
  );
}

/** Why nobody is signed in. */
function Failed(props: { title: string; error: Error; onRetry?: () => void }) {
  const { title, error, onRetry } = props;
  const { t } = useTranslationRef(portalTranslationRef);
  const textOf = useFailureText();
  return error.name === 'PopupRejectedError' ? (
    <Alert
      role="alert"
      status="info"
      icon
      title={title}
      description={t('signIn.windowClosed')}
    />
  ) : (
    <Failure
      title={title}
      error={error}
      // No session has ended: there was none.
      text={statusOf(error) === 401 ? messageOf(error) : textOf(error)}
      onRetry={onRetry}
    />
  );
}

/**
 * The session that one of the providers still has. Rejects where there should be one, but the
 * backend does not give it.
 */
async function resumeSession(
  providers: SignInProvider[],
): Promise<IdentityApi | undefined> {
  for (const provider of providers) {
    // An optional session hides why there is none.
    const optional = !provider.isRemembered?.();
    const identity = await openSession(provider, { optional });
    if (identity) {
      return identity;
    }
  }
  return undefined;
}

async function openSession(
  { auth }: SignInProvider,
  options: { optional: boolean } | { instantPopup: true },
): Promise<IdentityApi | undefined> {
  const response = await auth.getBackstageIdentity(options);
  return (
    response &&
    UserIdentity.create({
      identity: response.identity,
      authApi: auth,
      profile: await auth.getProfile({ optional: true }),
    })
  );
}
