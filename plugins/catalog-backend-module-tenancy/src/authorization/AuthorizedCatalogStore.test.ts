import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { component } from '@internal/catalog-testing/entities';
import { memoryStore } from '../__testUtils__/memoryStore';
import { AuthorizedCatalogStore } from './AuthorizedCatalogStore';

describe('AuthorizedCatalogStore', () => {
  it('hands on when the caller goes, and that only the first read may be refused', async () => {
    const ref = 'component:default/a';
    const { signal } = new AbortController();
    const store = memoryStore([component('a')]);
    const authorized = new AuthorizedCatalogStore({
      store,
      signal,
      permissions: mockServices.permissions.mock({
        authorizeConditional: async () => [{ result: AuthorizeResult.ALLOW }],
      }),
      credentials: mockCredentials.user(),
      // No decision has conditions.
      getRuleset: () => undefined as never,
    });
    store.readPage.mockRejectedValueOnce(new Error('refused'));
    await expect(authorized.readPage('t', { limit: 1 })).rejects.toThrow(
      'refused',
    );
    await authorized.readPage('t', { limit: 1 });
    await authorized.readPage('t', { limit: 1 });
    await authorized.getAncestry('t', ref);
    for (const [index, options] of [
      { signal },
      { signal },
      { signal, continues: true },
    ].entries()) {
      expect(store.readPage).toHaveBeenNthCalledWith(
        index + 1,
        't',
        { limit: 1 },
        options,
      );
    }
    expect(store.getAncestry).toHaveBeenLastCalledWith('t', ref, {
      signal,
      continues: true,
    });
  });
});
