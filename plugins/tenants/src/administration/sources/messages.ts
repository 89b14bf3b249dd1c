/** Texts of the sources of a tenant's catalog. */
export const sourcesMessages = {
  title: 'Sources of the catalog',
} as const;
