import { mockApis, renderInTestApp } from '@backstage/frontend-test-utils';
import { catalogApiRef } from '@backstage/plugin-catalog-react';
import { catalogApiMock } from '@backstage/plugin-catalog-react/testUtils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { permissionApiRef } from '@backstage/plugin-permission-react';
import { identityApiRef } from '@backstage/frontend-plugin-api';
import type { MockupApi } from 'backstage-plugin-mockup-common';
import { Route, Routes } from 'react-router-dom';
import { mockupApiRef } from '../api';
import {
  type MockupComponentsApi,
  mockupComponentsApiRef,
} from '../components/registry/MockupComponentBlueprint';
import { MockupsPage } from '../MockupsPage';
import { PagesPage } from '../pages/PagesPage';
import { pagesRouteRef, rootRouteRef } from '../routes';

/** What the portal says of all permissions: that they are given or not, or nothing but an error. */
export const permissions = (allows: boolean | Error) =>
  [
    permissionApiRef,
    mockApis.permission({
      authorize: () => {
        if (typeof allows !== 'boolean') {
          throw allows;
        }
        return allows ? AuthorizeResult.ALLOW : AuthorizeResult.DENY;
      },
    }),
  ] as const;

/** The pages of the plugin, below /mockups and /pages. */
export const renderPortal = (options: {
  at: string;
  api: object;
  components: MockupComponentsApi;
  allows: boolean;
  user?: string;
}) =>
  renderInTestApp(
    <Routes>
      <Route path="/pages/*" element={<PagesPage />} />
      <Route path="/mockups/*" element={<MockupsPage />} />
    </Routes>,
    {
      apis: [
        [mockupApiRef, options.api as MockupApi],
        [mockupComponentsApiRef, options.components],
        [catalogApiRef, catalogApiMock({ entities: [] })],
        [identityApiRef, mockApis.identity({ userEntityRef: options.user })],
        permissions(options.allows),
      ],
      mountedRoutes: { '/mockups': rootRouteRef, '/pages': pagesRouteRef },
      initialRouteEntries: [options.at],
    },
  );
