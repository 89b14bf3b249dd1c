/** Texts of the members of a tenant. */
export const membersMessages = {
  title: 'Members',
} as const;
