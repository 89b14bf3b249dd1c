/** Texts of the list of mockups and of the trash. */
export const listMessages = {
  title: 'Mockups',
  empty: 'There are no mockups yet.',
} as const;
