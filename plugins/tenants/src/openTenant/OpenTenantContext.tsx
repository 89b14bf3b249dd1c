import { configApiRef, useApi } from '@backstage/frontend-plugin-api';
import type { OpenTenant } from 'backstage-plugin-tenants-common';
import { createContext, useCallback, useContext, useState } from 'react';
import { BrowserPageTenant } from './PageTenant';
import { tenantAddress } from './tenantAddress';

/** What the parts of a page know of the tenant that is open in it. */
interface OpenTenantValue {
  tenant: OpenTenant;
  /** Says that the app shows the tenant itself, until the returned function is called. */
  showsTenant(): () => void;
}

/** Nothing where the backend knows no tenants. */
export const OpenTenantContext = createContext<OpenTenantValue | undefined>(
  undefined,
);

/** The tenant that is open in this page; nothing where the backend knows no tenants. */
export function useOpenTenant(): OpenTenant | undefined {
  return useContext(OpenTenantContext)?.tenant;
}

/** Leaves this page: in-memory caches and all that it shows are gone with it. */
export const pageNavigation = {
  open: (url: string) => window.location.assign(url),
  reload: () => window.location.reload(),
};

/** Opens another tenant, by loading its first page. */
export function useOpenOther(open: OpenTenant | undefined) {
  const configApi = useApi(configApiRef);
  /** Whether the browser could not keep the choice. */
  const [isNotKept, setNotKept] = useState(false);
  const openOther = useCallback(
    (slug: string) => {
      const basePath = basePathOf(configApi.getString('app.baseUrl'));
      const address =
        open && tenantAddress(slug, open, window.location, basePath);
      if (address === undefined && !BrowserPageTenant.choose(slug)) {
        setNotKept(true);
      } else {
        pageNavigation.open(address ?? basePath);
      }
    },
    [configApi, open],
  );
  return { openOther, isNotKept };
}

/** The path of an app, with a slash at the end. */
export function basePathOf(baseUrl: string): string {
  const { pathname } = new URL(baseUrl, window.location.origin);
  return pathname.replace(/\/*$/, '/');
}
