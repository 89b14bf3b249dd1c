/** Texts that all pages share. */
export const componentsMessages = {
  loading: 'Loading…',
} as const;
