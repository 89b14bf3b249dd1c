import { createTranslationRef } from '@backstage/frontend-plugin-api';

/** Both plugins export it as their own: the types of a published package can't name this one. */
export const pagesTranslationRef = createTranslationRef({
  id: 'tenancy-pages',
  messages: {
    loading: 'Loading…',
    slow: {
      loading:
        'The backend has not answered yet. This page goes on as soon as it does; you can leave it meanwhile.',
      waiting:
        'The backend has not answered yet. Leaving this page does not stop what was asked for.',
      doing:
        'The backend has not answered yet. Closing this does not stop what was asked for.',
    },
    retry: 'Try again',
    retrying: 'Trying again…',
    cancel: 'Cancel',
    leave: {
      title: 'Leave without saving?',
      text: 'What you typed is not saved. It is lost if you leave.',
      stay: 'Stay',
      leave: 'Leave',
    },
    copy: {
      done: 'Copied',
      failed: 'The browser did not let the page copy.',
    },
    failure: {
      unreachable:
        'The backend does not answer. Nothing is lost: try again when it is back.',
      unanswered:
        'The backend does not answer. It may have done this all the same. Nothing is lost: try again when it is back.',
      refused: 'You may not do this. {{message}}',
      foreign:
        'A proxy or the like has answered in place of the backend, with status {{status}}. Try again, or open the portal in another tab to see what it asks for: what you typed stays.',
      tooLarge:
        'It is larger than the backend, or a proxy in front of it, takes. Make it smaller.',
      sessionEnded:
        'Your session has ended. Sign in again in another tab and try again here: what you typed stays.',
      later_one: '{{meaning}} (Try again in {{count}} second.)',
      later_other: '{{meaning}} (Try again in {{count}} seconds.)',
      signIn: 'Sign in again',
    },
    selection: {
      label: 'Selection',
      count_one: '{{count}} selected',
      count_other: '{{count}} selected',
      clear: 'Clear selection',
      failed: 'Some were not changed',
    },
    list: {
      search: 'Search',
      clear: 'Clear the search',
      page: {
        label: 'Pages',
        shown: '{{from}} to {{to}} of {{total}}',
        previous: 'Previous page',
        next: 'Next page',
      },
    },
  },
});
