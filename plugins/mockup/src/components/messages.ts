/** Texts that all pages share. */
export const componentsMessages = {
  loading: 'Loading…',
  retry: 'Try again',
  cancel: 'Cancel',
  failure: {
    unreachable:
      'The backend does not answer. Nothing was lost here: try again when it is back.',
    refused: 'You may not do this. {{message}}',
  },
} as const;
