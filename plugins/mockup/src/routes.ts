import {
  createRouteRef,
  createSubRouteRef,
} from '@backstage/frontend-plugin-api';

/** The list of mockups. */
export const rootRouteRef = createRouteRef();

/** The mockups in the trash. */
export const trashRouteRef = createSubRouteRef({
  parent: rootRouteRef,
  path: '/trash',
});

/** The editor of a mockup, with its newest version. */
export const mockupRouteRef = createSubRouteRef({
  parent: rootRouteRef,
  path: '/:id',
});

/** The versions of a mockup. */
export const versionsRouteRef = createSubRouteRef({
  parent: rootRouteRef,
  path: '/:id/versions',
});

/** What people say of a mockup. */
export const commentsRouteRef = createSubRouteRef({
  parent: rootRouteRef,
  path: '/:id/comments',
});

/** One version of a mockup, to look at. */
export const versionRouteRef = createSubRouteRef({
  parent: rootRouteRef,
  path: '/:id/versions/:versionId',
});

/** Two versions of a mockup, side by side. */
export const compareRouteRef = createSubRouteRef({
  parent: rootRouteRef,
  path: '/:id/versions/:versionId/compare/:otherId',
});

/** The published pages. */
export const pagesRouteRef = createRouteRef();

/** One published page. */
export const pageRouteRef = createSubRouteRef({
  parent: pagesRouteRef,
  path: '/:path',
});
