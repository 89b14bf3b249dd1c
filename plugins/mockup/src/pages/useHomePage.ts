import {
  configApiRef,
  useApi,
  useApiHolder,
  useRouteRef,
} from '@backstage/frontend-plugin-api';
import type { MockupApi } from 'backstage-plugin-mockup-common';
import { useEffect } from 'react';
import { useLocation, useNavigate } from 'react-router-dom';
import useAsync from 'react-use/esm/useAsync';
import { mockupApiRef } from '../api';
import { pageRouteRef } from '../routes';

/** What is known of the home, for as long as the app is open. */
interface Home {
  /** The path of the page, if there is one. It is also none where that can't be found out. */
  path: Promise<string | undefined>;
  /** Whether the app was opened, at its root or elsewhere. */
  isOpened: boolean;
}

const homes = new WeakMap<MockupApi, Home>();

function homeOf(api: MockupApi): Home {
  let home = homes.get(api);
  if (!home) {
    const path = api.getHomePage().then(
      page => page?.path,
      () => undefined,
    );
    home = { path, isOpened: false };
    homes.set(api, home);
  }
  return home;
}

/**
 * The address of the page that is the home of the user, if there is one. Where the app was opened
 * at its root, it shows that page.
 *
 * It is for the frame around the pages, such as the navigation.
 *
 * @public
 */
export function useHomePage(): string | undefined {
  const api = useApiHolder().get(mockupApiRef);
  const root = new URL(
    useApi(configApiRef).getOptionalString('app.baseUrl') ?? '/',
    window.location.origin,
  ).pathname.replace(/\/*$/, '/');
  const toPage = useRouteRef(pageRouteRef);
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const { value: path } = useAsync(async () => api && homeOf(api).path, [api]);
  const href = path && toPage?.({ path });

  useEffect(() => {
    const home = api && homeOf(api);
    if (!href || !home || home.isOpened) {
      return;
    }
    home.isOpened = true;
    if (['/', root].includes(pathname.replace(/\/*$/, '/'))) {
      navigate(href, { replace: true });
    }
  }, [api, href, navigate, pathname, root]);

  return href;
}
