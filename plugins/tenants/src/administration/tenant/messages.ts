/** Texts of the page of one tenant. */
export const tenantMessages = {
  tabs: { overview: 'Overview', members: 'Members', sources: 'Sources' },
} as const;
