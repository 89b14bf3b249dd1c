/** Texts of the list of tenants. */
export const listMessages = {
  title: 'All tenants',
} as const;
