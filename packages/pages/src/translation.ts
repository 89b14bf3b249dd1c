import { createTranslationRef } from '@backstage/frontend-plugin-api';

/** Both plugins export it as their own: the types of a published package can't name this one. */
export const pagesTranslationRef = createTranslationRef({
  id: 'tenancy-pages',
  messages: {
    loading: 'Loading…',
    retry: 'Try again',
    cancel: 'Cancel',
    failure: {
      unreachable:
        'The backend does not answer. Nothing was lost here: try again when it is back.',
      refused: 'You may not do this. {{message}}',
    },
    list: {
      search: 'Search',
      clear: 'Clear the search',
      beyond: 'The list ends before this page.',
      first: 'First page',
      page: {
        label: 'Pages',
        shown: '{{from}} to {{to}} of {{total}}',
        previous: 'Previous page',
        next: 'Next page',
      },
    },
  },
});
