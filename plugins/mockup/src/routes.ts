import {
  createRouteRef,
  createSubRouteRef,
  useRouteRef,
} from '@backstage/frontend-plugin-api';

/** The list of mockups. */
export const rootRouteRef = createRouteRef();

/** The editor of a mockup, with its newest version. */
export const mockupRouteRef = createSubRouteRef({
  parent: rootRouteRef,
  path: '/:id',
});

/** The published pages. */
export const pagesRouteRef = createRouteRef();

/** One published page. */
export const pageRouteRef = createSubRouteRef({
  parent: pagesRouteRef,
  path: '/:path',
});

/** The addresses of the pages of the plugin. */
export function usePaths() {
  const list = useRouteRef(rootRouteRef)?.() ?? '';
  const toMockup = useRouteRef(mockupRouteRef);
  const pages = useRouteRef(pagesRouteRef)?.() ?? '';
  const toPage = useRouteRef(pageRouteRef);
  const mockup = (id: string) => toMockup?.({ id }) ?? '';
  const version = (id: string, versionId: string) =>
    `${mockup(id)}/versions/${encodeURIComponent(versionId)}`;
  return {
    list,
    // No mockup has this id.
    trash: mockup('trash'),
    mockup,
    comments: (id: string) => `${mockup(id)}/comments`,
    versions: (id: string) => `${mockup(id)}/versions`,
    version,
    compare: (id: string, versionId: string, otherId: string) =>
      `${version(id, versionId)}/compare/${encodeURIComponent(otherId)}`,
    pages,
    page: (path: string) => toPage?.({ path }) ?? '',
  };
}
