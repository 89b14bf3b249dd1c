/** Texts of the list of tenants. */
export const listMessages = {
  title: 'Tenants',
} as const;
