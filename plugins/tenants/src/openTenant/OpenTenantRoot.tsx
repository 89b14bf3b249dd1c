import {
  configApiRef,
  identityApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Container } from '@backstage/ui';
import { Failure, Loading } from '@internal/pages';
import { makeStyles } from '@material-ui/core/styles';
import type { OpenTenant } from 'backstage-plugin-tenants-common';
import {
  type ReactNode,
  useCallback,
  useEffect,
  useMemo,
  useState,
} from 'react';
import useAsync from 'react-use/esm/useAsync';
import { tenantsApiRef } from '../api';
import { tenantsTranslationRef } from '../translation';
import { AcceptInvitation, isInvitationPage } from './AcceptInvitation';
import { type Decision, decideTenant } from './decideTenant';
import { NoTenantPage } from './NoTenantPage';
import { ClosedLinks } from './ClosedLinks';
import {
  basePathOf,
  OpenTenantContext,
  pageNavigation,
} from './OpenTenantContext';
import {
  BrowserPageTenant,
  type PageTenant,
  pageTenantApiRef,
} from './PageTenant';
import {
  rememberedTenant,
  rememberTenant,
  whenPageHasAnswers,
} from './rememberedTenant';
import { tenantAddress } from './tenantAddress';
import { TenantApis } from './TenantApis';
import { TenantGone } from './TenantGone';
import { TenantMenu } from './TenantMenu';

const decisions = new WeakMap<
  PageTenant,
  { attempt: number; decision: Promise<Decision> }
>();

/** Backstage shows the root of an app twice while it starts: a page asks once all the same. */
function decideOnce(
  pageTenant: PageTenant,
  attempt: number,
  decide: () => Promise<Decision>,
): Promise<Decision> {
  let asked = decisions.get(pageTenant);
  if (asked?.attempt !== attempt) {
    asked = { attempt, decision: decide() };
    decisions.set(pageTenant, asked);
  }
  return asked.decision;
}

/**
 * Around the whole app, once its user has signed in: shows nothing of it before the portal has
 * said which tenant is open.
 */
export function OpenTenantRoot({ children }: { children: ReactNode }) {
  const basePath = basePathOf(useApi(configApiRef).getString('app.baseUrl'));
  return isInvitationPage(basePath) ? (
    <AcceptInvitation />
  ) : (
    <TenantOfPage>{children}</TenantOfPage>
  );
}

function TenantOfPage({ children }: { children: ReactNode }) {
  const tenantsApi = useApi(tenantsApiRef);
  const pageTenant = useApi(pageTenantApiRef);
  const { slug } = pageTenant;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const basePath = basePathOf(useApi(configApiRef).getString('app.baseUrl'));
  const [attempt, setAttempt] = useState(0);

  useEffect(
    () => pageTenant.onOther(() => pageNavigation.open(basePath)),
    [pageTenant, basePath],
  );

  const identityApi = useApi(identityApiRef);
  const [shown, setShown] = useState<OpenTenant>();
  const {
    value: decided,
    error: failure,
    loading,
  } = useAsync(async () => {
    const { userEntityRef: user } = await identityApi.getBackstageIdentity();
    const remembered = rememberedTenant({ user, slug });
    if (remembered) {
      pageTenant.closedPlugins = remembered.closed_plugins;
      setShown(remembered);
      await whenPageHasAnswers();
    }
    const decision = await decideOnce(pageTenant, attempt, () =>
      decideTenant(tenantsApi, slug),
    );
    rememberTenant(
      { user, slug },
      decision.kind === 'open' ? decision.tenant : undefined,
    );
    if (
      decision.kind === 'open' &&
      JSON.stringify(decision.tenant) === JSON.stringify(remembered)
    ) {
      return { kind: 'open' as const, tenant: remembered };
    }
    if (decision.kind === 'open') {
      pageTenant.closedPlugins = decision.tenant?.closed_plugins ?? [];
    }
    if (decision.kind !== 'other') {
      return decision;
    }
    const { slug: other, tenant } = decision;
    const address =
      tenant &&
      other &&
      tenantAddress(other, tenant, window.location, basePath);
    const isKept = BrowserPageTenant.choose(address ? undefined : other);
    if (address) {
      pageNavigation.open(address);
    } else if (isKept) {
      pageNavigation.reload();
    } else {
      throw new Error(t('openTenant.menu.notKept'));
    }
    return undefined;
  }, [tenantsApi, identityApi, pageTenant, slug, basePath, attempt]);
  // What was remembered stays where the portal does not answer: so do its pages.
  const error = shown ? undefined : failure;
  const value = decided ?? (shown && { kind: 'open' as const, tenant: shown });

  if (error) {
    return (
      <Container mt="8">
        <Failure
          title={t('openTenant.failed.title')}
          error={error}
          onRetry={() => setAttempt(attempt + 1)}
          isRetrying={loading}
        />
      </Container>
    );
  }
  if (!value) {
    return (
      <Container>
        <Loading />
      </Container>
    );
  }
  if (value.kind === 'refused') {
    return <NoTenantPage slug={slug} own={value.own} />;
  }
  return value.tenant ? (
    <Opened tenant={value.tenant}>{children}</Opened>
  ) : (
    <>{children}</>
  );
}

/** The app, in its tenant. */
function Opened(props: { tenant: OpenTenant; children: ReactNode }) {
  const { tenant, children } = props;
  const pageTenant = useApi(pageTenantApiRef);
  const [isRefused, setRefused] = useState(false);
  const [shown, setShown] = useState(0);

  useEffect(() => pageTenant.onRefusal(() => setRefused(true)), [pageTenant]);

  const showsTenant = useCallback(() => {
    setShown(count => count + 1);
    return () => setShown(count => count - 1);
  }, []);
  const context = useMemo(
    () => ({ tenant, showsTenant }),
    [tenant, showsTenant],
  );
  return (
    <OpenTenantContext.Provider value={context}>
      <ClosedLinks tenant={tenant} />
      {tenant.enabled && shown === 0 && <TenantBar tenant={tenant} />}
      {isRefused && (
        <TenantGone tenant={tenant} onBack={() => setRefused(false)} />
      )}
      <TenantApis tenant={tenant}>{children}</TenantApis>
    </OpenTenantContext.Provider>
  );
}

const useBarStyles = makeStyles(theme => ({
  bar: {
    position: 'sticky',
    top: 0,
    // Below the sidebar, which begins at the top of the window.
    zIndex: 999,
    display: 'flex',
    justifyContent: 'flex-end',
    height: 32,
    padding: theme.spacing(0, 1),
    background: theme.palette.navigation.background,
  },
  menu: {
    display: 'flex',
    alignItems: 'center',
    height: 32,
    minWidth: 0,
    maxWidth: '100%',
    padding: theme.spacing(0, 1),
    borderRadius: 0,
    background: 'none',
    color: theme.palette.navigation.selectedColor,
    '&[data-focus-visible]': {
      outline: '2px solid currentColor',
      outlineOffset: -4,
    },
  },
}));

/** Above the pages of an app whose sidebar does not show the tenant. */
function TenantBar({ tenant }: { tenant: OpenTenant }) {
  const classes = useBarStyles();
  return (
    <div className={classes.bar}>
      <TenantMenu
        tenant={tenant}
        className={classes.menu}
        iconSize={16}
        showsName
      />
    </div>
  );
}
