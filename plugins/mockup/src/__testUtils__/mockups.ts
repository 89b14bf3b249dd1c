import type {
  LayoutItem,
  Mockup,
  MockupApi,
  Page,
  Pagination,
  TrashedMockup,
  Version,
} from 'backstage-plugin-mockup-common';

export { refusal, seriousProblems } from '@internal/pages/testUtils';

export const mockupOf = (name: string, more: Partial<Mockup> = {}): Mockup => ({
  id: `id-of-${name}`,
  name,
  owner: 'user:default/anna',
  createdAt: '2026-11-20T10:00:00.000Z',
  updatedAt: '2026-11-20T10:00:00.000Z',
  ...more,
});

export const itemOf = (
  component: string,
  props: Record<string, unknown> = {},
  more: Partial<LayoutItem> = {},
): LayoutItem => ({
  ...{ i: component, x: 0, y: 0, w: 4, h: 4, component, props },
  ...more,
});

/** One method of the backend. */
export function method<TName extends keyof MockupApi>(
  _name: TName,
  answer: MockupApi[TName],
) {
  return jest.fn<ReturnType<MockupApi[TName]>, Parameters<MockupApi[TName]>>(
    answer as (
      ...args: Parameters<MockupApi[TName]>
    ) => ReturnType<MockupApi[TName]>,
  );
}

/** A backend with these mockups, each with one version, whose changes it keeps. */
export function mockApi(...mockups: Mockup[]) {
  const etag = '"1"';
  const all = new Map(mockups.map(mockup => [mockup.id, mockup]));
  const trash = new Map<string, TrashedMockup>();
  const page = <TItem>(
    items: TItem[],
    { limit = 100, offset = 0 }: Pagination = {},
  ): Page<TItem> => ({
    items: items.slice(offset, offset + limit),
    totalItems: items.length,
  });
  const versionOf = (mockup: Mockup): Version => ({
    id: `version of ${mockup.id}`,
    mockupId: mockup.id,
    layoutData: [itemOf('header', { title: mockup.name })],
    createdBy: mockup.owner,
    createdAt: mockup.updatedAt,
  });
  return {
    listMockups: method(
      'listMockups',
      async ({ owner, search, ...rest } = {}) =>
        page(
          [...all.values()].filter(
            each =>
              (!owner || each.owner === owner) &&
              (!search ||
                each.name.toLowerCase().includes(search.toLowerCase())),
          ),
          rest,
        ),
    ),
    getMockup: method('getMockup', async id => {
      const mockup = all.get(id);
      return (
        mockup && {
          mockup: { ...mockup, latestVersion: versionOf(mockup) },
          etag,
        }
      );
    }),
    createMockup: method('createMockup', async request => {
      const mockup = mockupOf(request.name, request);
      all.set(mockup.id, mockup);
      return { mockup, etag };
    }),
    updateMockup: method(
      'updateMockup',
      async (id, { name, description = undefined }) => {
        const { description: old, ...mockup } = all.get(id)!;
        const text = description === undefined ? old : description;
        const next = {
          ...mockup,
          ...(name && { name }),
          ...(text && { description: text }),
        };
        all.set(id, next);
        return { mockup: next, etag };
      },
    ),
    saveVersion: method('saveVersion', async (id, request) => ({
      version: { ...versionOf(all.get(id)!), ...request },
      etag,
    })),
    shareMockup: method('shareMockup', async (id, { shares }) => {
      const mockup = { ...all.get(id)!, shares };
      all.set(id, mockup);
      return { mockup, etag };
    }),
    deleteMockup: method('deleteMockup', async id => {
      trash.set(id, {
        ...all.get(id)!,
        deletedAt: '2026-11-21T10:00:00.000Z',
        deletedBy: 'user:default/peter',
        purgedAfter: '2026-12-21T10:00:00.000Z',
      });
      all.delete(id);
    }),
    listTrash: method('listTrash', async (query = {}) =>
      page([...trash.values()], query),
    ),
    restoreMockup: method('restoreMockup', async id => {
      const { deletedAt, deletedBy, purgedAfter, ...mockup } = trash.get(id)!;
      trash.delete(id);
      all.set(id, mockup);
      return { mockup, etag };
    }),
    purgeMockup: method('purgeMockup', async id => {
      trash.delete(id);
    }),
    listPages: method('listPages', async () => []),
    getPage: method('getPage', async () => undefined),
    exportMockup: method('exportMockup', async () => new Response('{}')),
    exportMockups: method('exportMockups', async () => new Response('{}')),
    importMockups: method('importMockups', async () => {
      const mockup = mockupOf('Imported');
      all.set(mockup.id, mockup);
      return [mockup];
    }),
    duplicateMockup: method('duplicateMockup', async (id, request = {}) => {
      const { name = all.get(id)!.name } = request;
      const mockup = mockupOf(name);
      all.set(mockup.id, mockup);
      return { mockup: { ...mockup, latestVersion: versionOf(mockup) }, etag };
    }),
  } satisfies Partial<MockupApi>;
}
